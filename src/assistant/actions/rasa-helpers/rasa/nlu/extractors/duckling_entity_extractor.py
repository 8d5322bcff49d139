"""Asks a Duckling server for dates, amounts and other values in messages."""

import logging
import os
import time

import requests

logger = logging.getLogger(__name__)


def _value(found):
    value = found["value"]
    if value.get("type") != "interval":
        return value.get("value")
    return {end: value.get(end, {}).get("value") for end in ("to", "from")}


class DucklingEntityExtractor:
    def __init__(self, config=None, *_):
        self.component_config = {**self.get_default_config(), **(config or {})}

    @staticmethod
    def get_default_config():
        # Without dimensions, Duckling looks for all that it knows.
        return {"url": None, "dimensions": None, "locale": "en_US", "timezone": None, "timeout": 3}

    @classmethod
    def create(cls, config, *_):
        return cls(config)

    def process(self, messages):
        for message in messages:
            entities = message.get("entities", [])
            message.set("entities", entities + self._entities(message), add_to_output=True)
        return messages

    def _entities(self, message):
        config = self.component_config
        url = os.environ.get("RASA_DUCKLING_HTTP_URL") or config["url"]
        if not url:
            logger.warning("no URL of a Duckling server; set RASA_DUCKLING_HTTP_URL")
            return []
        form = {
            "text": message.get("text"),
            "locale": config["locale"],
            "tz": config["timezone"],
            "dims": str(config["dimensions"] or []).replace("'", '"'),
            "reftime": int(message.time or time.time()) * 1000,
        }
        try:
            response = requests.post(f"{url.rstrip('/')}/parse", data=form, timeout=config["timeout"])
            response.raise_for_status()
        except requests.RequestException as error:
            logger.error("the Duckling server at %s does not answer: %s", url, error)
            return []
        wanted = config["dimensions"]
        return [
            {
                "start": found["start"],
                "end": found["end"],
                "text": found.get("body", found["value"]),
                "value": _value(found),
                "confidence": 1.0,
                "additional_info": found["value"],
                "entity": found["dim"],
                "extractor": "DucklingEntityExtractor",
            }
            for found in response.json()
            if not wanted or found["dim"] in wanted
        ]

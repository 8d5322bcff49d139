"""A message of a user and what is known of it."""


class Message:
    def __init__(self, data=None, output_properties=None, time=None, features=None, **_):
        self.data = dict(data or {})
        self.output_properties = set(output_properties or ()) | {"text"}
        self.time = int(time) if time else None
        self.features = features or []

    @classmethod
    def build(cls, text, intent=None, entities=None, **data):
        given = {"text": text, "intent": intent, "entities": entities, **data}
        return cls(data={key: value for key, value in given.items() if value is not None})

    def get(self, prop, default=None):
        return self.data.get(prop, default)

    def set(self, prop, info, add_to_output=False):
        self.data[prop] = info
        if add_to_output:
            self.output_properties.add(prop)

    def as_dict(self, only_output_properties=False):
        return {
            key: value
            for key, value in self.data.items()
            if value is not None and not (only_output_properties and key not in self.output_properties)
        }

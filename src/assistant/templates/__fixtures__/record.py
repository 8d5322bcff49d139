"""Records what Jinja2 renders for the templates of jinja2.json: `pip install jinja2`, then run it here."""

import json
from pathlib import Path

import jinja2

file = Path(__file__).with_name("jinja2.json")
recorded = json.loads(file.read_text())
environment = jinja2.Environment()
environment.filters["to_json_escaped_string"] = lambda text: json.dumps(text, ensure_ascii=False)
for case in recorded["cases"]:
    case["expected"] = environment.from_string(case["template"]).render(**recorded["scope"])
recorded["recorded_with"] = f"Jinja2 {jinja2.__version__}"
file.write_text(json.dumps(recorded, indent=2, ensure_ascii=False) + "\n")

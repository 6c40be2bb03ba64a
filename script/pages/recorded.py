"""What is on record in results/: reading it, for more than one page."""
from lib.project import load

PRINTED = "results/emulator/questions.json"  # what script/questions writes


def printed():
    """What the commands of docs/questions.md print: command -> record."""
    return {record["command"]: record for record in load(PRINTED)}


def compiled_record(architecture):
    return f"results/compiled/{architecture}/questions.json"


def compiled_examples(name, architecture="sm_90a"):
    return load(compiled_record(architecture))["files"][f"docs/questions/{name}.cu"]["kernels"]


def tried(records, name, kernel):
    """What `lapidary try` says of an example."""
    return records[f"try docs/questions/{name}.cu --kernel {kernel}"]["result"]


def counters_at_1024(tile, type_name="f32"):
    """Of the rungs with a tile of that shape and type: rung -> counter -> {"written", "compiled", "measured"}."""
    launches = load("results/h200/predictions.json")["counters"]
    return {
        launch["kernel"]: {counter["counter"]: counter for counter in launch["counters"]}
        for launch in launches
        if (launch["tile"], launch["type"], launch["m"]) == (tile, type_name, 1024)
    }


def rates(mode):
    """Median TFLOP/s by kernel, tile, size and type."""
    results = [r for r in load("results/h200/ladder.json")["results"] if r["mode"] == mode]
    return {tuple(r[key] for key in ("kernel", "tile", "size", "type")): r["tflops"]["median"] for r in results}


def burst(kernel, tile, size, type_name="f32"):
    return rates("burst")[kernel, tile, size, type_name]

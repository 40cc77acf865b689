"""The flows of real traces equal the trees of their spans' parents."""

import gzip
import json
from collections import Counter, defaultdict

import pytest

from clew.graph.ops.flows.flows import Flows
from clew.query.api import Run


def spans_of(path):
    """Return the spans of an OTLP file, by trace and id, as (parent, service and name, host, start, end)."""
    found = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            for resource in json.loads(line)["resourceSpans"]:
                about = {item["key"]: item["value"].get("stringValue") for item in resource["resource"]["attributes"]}
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        times = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
                        name = f"{about['service.name']}:{span['name']}"
                        found[span["traceId"], span["spanId"]] = (
                            (span["traceId"], span.get("parentSpanId", "")), name, about["host.name"], *times,
                        )  # fmt: skip
    return found


@pytest.mark.parametrize("name", ["healthy-0130", "fault-d"])
def test_flows_of_trace_equal_trees_of_span_parents(import_trace, shared_file, tmp_path, name):
    path = shared_file("trainticket", f"{name}.jsonl.gz")
    graph = import_trace(path).graph
    flows = Flows.of(Run(graph.info, tmp_path, [], graph))
    spans = spans_of(path)
    below = defaultdict(list)
    for key, (parent, *_) in spans.items():
        below[parent].append(key)
    expected = Counter()
    responses = Counter()
    for key, (parent, own, _, start, end) in spans.items():
        if parent in spans:
            continue
        pairs, rest = Counter(), [key]
        for span in rest:
            for kid in below[span]:
                pairs[spans[span][1], spans[kid][1]] += 1
                rest.append(kid)
        expected[frozenset(pairs.items()) or own] += 1
        responses[own, start, end - start] += 1
    found = Counter()
    for number in range(len(flows)):
        own, pairs = flows.labels[flows.label[flows.first[number]]], Counter(flows.pairs(number))
        alone = flows.places(number).stop - flows.places(number).start == 1
        found[own if alone else frozenset(pairs.items())] += 1
    assert found == expected
    roots = [flows.labels[label] for label in flows.label[flows.first[:-1]]]
    assert responses == Counter(zip(roots, flows.start_ns.tolist(), flows.response_ns.tolist(), strict=True))
    hosts = Counter(host for _, _, host, *_ in spans.values())
    assert Counter(flows.instances[code] for code in flows.instance) == hosts
    assert len(flows.label) == len(spans)

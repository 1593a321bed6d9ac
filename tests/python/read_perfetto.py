"""Reads a Perfetto trace with Perfetto's schema and checks the properties that trace_processor requires: no unknown
fields, tracks declared before use, and nested slices on each track. Prints the counts as JSON.

    read_perfetto.py TRACE
"""

import collections
import json
import sys

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema


def known(message, where="Trace"):
    assert len(unknown_fields.UnknownFieldSet(message)) == 0, f"unknown field in {where}"
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in [value] if isinstance(value, type(message)) or hasattr(value, "ListFields") else value:
                known(inner, field.name)


trace = schema.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
known(trace)
clocks = {clock.clock_id for clock in trace.packet[0].clock_snapshot.clocks}
assert clocks == {schema.BUILTIN_CLOCK_REALTIME, schema.BUILTIN_CLOCK_MONOTONIC}

tracks = {}
events = collections.defaultdict(list)
found = collections.Counter()
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks, "declared twice"
        assert not track.parent_uuid or track.parent_uuid in tracks, "its parent is not declared"
        tracks[track.uuid] = track
        for kind in ["process", "thread", "counter"]:
            found[kind] += track.HasField(kind)
    if packet.HasField("track_event"):
        event = packet.track_event
        assert event.track_uuid in tracks, "of a track that is not declared"
        assert packet.timestamp_clock_id in clocks
        is_counter = tracks[event.track_uuid].HasField("counter")
        assert is_counter == (event.type == schema.TrackEvent.TYPE_COUNTER)
        events[event.track_uuid].append((packet.timestamp, event))

# Arrows join slices; those of chains are numbered from 2^32 on.
arrows = collections.defaultdict(set)
for uuid, track in events.items():
    for at, event in track:
        for arrow in event.flow_ids:
            arrows[arrow].add((uuid, at))
found["arrows_of_requests"] = sum(arrow < 1 << 32 and len(ends) > 1 for arrow, ends in arrows.items())
found["arrows_of_chains"] = sum(arrow >= 1 << 32 and len(ends) > 1 for arrow, ends in arrows.items())
found["chain_ends_alone"] = sum(arrow >= 1 << 32 and len(ends) < 2 for arrow, ends in arrows.items())

SLICE_ENDS = [schema.TrackEvent.TYPE_SLICE_BEGIN, schema.TrackEvent.TYPE_SLICE_END]
for track in events.values():
    # A slice's end is written after its begin. A reader sorts by time, and an end closes the latest open slice.
    written = [at for at, event in track if event.type in SLICE_ENDS]
    meant = sorted(end - begin for begin, end in zip(written[::2], written[1::2]))
    read, stack = [], []
    for at, event in sorted(track, key=lambda entry: entry[0]):
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(at)
            found[event.categories[0]] += 1
        elif event.type == schema.TrackEvent.TYPE_SLICE_END:
            assert stack, "an end without a begin"
            read.append(at - stack.pop())
        elif event.type == schema.TrackEvent.TYPE_INSTANT:
            found["instant"] += 1
        else:
            found["value"] += 1
    assert not stack, "a begin without an end"
    assert sorted(read) == meant, "slices that cross"
print(json.dumps(found))

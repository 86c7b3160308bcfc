import { fromJson, toJson } from "@bufbuild/protobuf";
import type { JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonFieldError } from "#httpjson/runtime/index.ts";
import { validJson } from "./arbitrary-json.ts";
import { kindsFromJson as ownFromJson, kindsToJson as ownToJson } from "./gen/own/kinds_http.ts";
import { KindsSchema as OwnSchema } from "./gen/own/kinds_pb.ts";
import { kindsFromJson, kindsToJson } from "./gen/protojson/kinds_http.ts";
import type { Kinds } from "./gen/protojson/kinds_pb.ts";
import { KindsSchema } from "./gen/protojson/kinds_pb.ts";

// protobuf-es's reflective fromJson and toJson are the oracle: without options the generated codecs are
// ProtoJSON.

const kinds = validJson(KindsSchema, 3);

/** A response as its reader parses it: JSON text drops undefined members. */
function wire(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json));
}

function reparsed(json: unknown): JsonValue {
  return JSON.parse(JSON.stringify(json));
}

describe("generated codecs compared with protobuf-es", () => {
  it("read valid JSON as the same message", () => {
    fc.assert(
      fc.property(kinds, (json) => {
        const text = reparsed(json);
        expect(kindsFromJson(text)).toEqual(fromJson(KindsSchema, text));
      }),
      { numRuns: 300 },
    );
  });

  it("write the same JSON without options", () => {
    fc.assert(
      fc.property(kinds, (json) => {
        const message = fromJson(KindsSchema, reparsed(json));
        expect(wire(kindsToJson(message))).toEqual(wire(toJson(KindsSchema, message)));
      }),
      { numRuns: 300 },
    );
  });

  it("write the same fields with field_names=proto and emit_default=true, except 64-bit integers", () => {
    fc.assert(
      fc.property(kinds, (json) => {
        const message = fromJson(OwnSchema, reparsed(json));
        const oracle = toJson(OwnSchema, message, { alwaysEmitImplicit: true, useProtoFieldName: true });
        expect(Object.keys(wire(ownToJson(message)) ?? {}).sort()).toEqual(
          Object.keys(wire(oracle) ?? {}).sort(),
        );
      }),
      { numRuns: 100 },
    );
  });

  it("read their own JSON back with any options", () => {
    fc.assert(
      fc.property(kinds, (json) => {
        const message = fromJson(OwnSchema, reparsed(json));
        expect(ownFromJson(wire(ownToJson(message)), "", 100)).toEqual(message);
        expect(ownFromJson(wire(kindsToJson(message)), "", 100)).toEqual(message);
      }),
      { numRuns: 200 },
    );
  });

  it("read nothing that protobuf-es refuses, and throw only JsonFieldError", () => {
    const member = fc.tuple(
      fc.constantFrom(...KindsSchema.fields.flatMap(({ name, jsonName }) => [name, jsonName])),
      fc.jsonValue({ maxDepth: 3 }),
    );
    const broken = fc
      .tuple(kinds, fc.array(member, { maxLength: 2 }))
      .map(([json, members]) => Object.assign({}, json, Object.fromEntries(members)));
    fc.assert(
      fc.property(fc.oneof(broken, fc.jsonValue()), (value) => {
        const json = reparsed(value);
        const message = readUnlessRefused(json);
        if (message !== undefined) {
          expect(message).toEqual(fromJson(KindsSchema, withoutUnsetChoices(json)));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("throw only JsonFieldError for values without a JSON form", () => {
    fc.assert(
      fc.property(
        fc.anything(),
        fc.constantFrom(...KindsSchema.fields.map(({ name }) => name)),
        (value, name) => {
          readUnlessRefused(value);
          readUnlessRefused({ [name]: value });
        },
      ),
      { numRuns: 1000 },
    );
  });
});

/** null leaves a member of a oneof unset, but protobuf-es refuses it after a member that is set. */
function withoutUnsetChoices(json: JsonValue): JsonValue {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return json;
  }
  return Object.fromEntries(
    Object.entries(json).filter(
      ([name, value]) => value !== null || !name.startsWith("chosen") || /^chosen_?null$/i.test(name),
    ),
  );
}

function readUnlessRefused(json: unknown): Kinds | undefined {
  try {
    return kindsFromJson(json);
  } catch (error) {
    expect(error).toBeInstanceOf(JsonFieldError);
    return undefined;
  }
}

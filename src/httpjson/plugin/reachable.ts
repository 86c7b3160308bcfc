import type { DescEnum, DescField, DescFile, DescMessage } from "@bufbuild/protobuf";
import type { Annotations } from "./annotations.ts";
import { GenerationError } from "./generation-error.ts";
import type { Binding } from "./http-rule.ts";
import { hasRuntimeCodec } from "./well-known-types.ts";

/** The messages and enums that need codecs. */
export interface Reachable {
  /** Messages that are written: everything reachable from requests, responses and errors. */
  readonly written: ReadonlySet<DescMessage | DescEnum>;
  /** Messages that are also read: everything reachable from requests. */
  readonly read: ReadonlySet<DescMessage | DescEnum>;
}

/** @throws GenerationError for a message that has no JSON form here */
export function findReachable(
  files: readonly DescFile[],
  bindings: readonly Binding[],
  annotations: Annotations,
): Reachable {
  const read = new Set<DescMessage | DescEnum>();
  const written = new Set<DescMessage | DescEnum>();
  for (const { method } of bindings) {
    visit(method.input, read);
    visit(method.input, written);
    visit(method.output, written);
  }
  for (const message of files.flatMap((file) => file.messages.flatMap(withNested))) {
    if (annotations.errorStatus(message) !== undefined) {
      visit(message, written);
    }
  }
  const generated = new Set(files.map(({ name }) => name));
  for (const desc of written) {
    if (!generated.has(desc.file.name)) {
      throw new GenerationError(
        desc,
        "is used by a route but its file is not generated; generate it in the same run (buf: strategy: all)",
      );
    }
  }
  return { written, read };
}

function withNested(message: DescMessage): DescMessage[] {
  return [message, ...message.nestedMessages.flatMap(withNested)];
}

function visit(desc: DescMessage | DescEnum, seen: Set<DescMessage | DescEnum>): void {
  if (seen.has(desc) || hasRuntimeCodec(desc)) {
    return;
  }
  seen.add(desc);
  if (desc.kind === "enum") {
    return;
  }
  if (desc.file.proto.syntax !== "proto3") {
    throw new GenerationError(
      desc,
      'only proto3 messages are supported; move it to a file with syntax = "proto3"',
    );
  }
  for (const field of desc.fields) {
    visitField(field, seen);
  }
}

function visitField(field: DescField, seen: Set<DescMessage | DescEnum>): void {
  if (field.message?.typeName === "google.protobuf.Any") {
    throw new GenerationError(
      field,
      "google.protobuf.Any is not supported; use a oneof of the messages it can hold, or " +
        "google.protobuf.Struct",
    );
  }
  if (field.name === "__proto__" || field.jsonName === "__proto__") {
    throw new GenerationError(
      field,
      "__proto__ cannot be the name of a JavaScript property; rename the field",
    );
  }
  const type = field.message ?? field.enum;
  if (type !== undefined) {
    visit(type, seen);
  }
}

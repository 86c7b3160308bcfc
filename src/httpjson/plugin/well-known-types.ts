import type { DescEnum, DescMessage } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

const withRuntimeCodec: ReadonlySet<string> = new Set([
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
  "google.protobuf.FieldMask",
  "google.protobuf.Struct",
  "google.protobuf.Value",
  "google.protobuf.ListValue",
  "google.protobuf.Empty",
  "google.protobuf.NullValue",
]);

/** Whether the runtime, not generated code, has the codec. */
export function hasRuntimeCodec(desc: DescMessage | DescEnum): boolean {
  return withRuntimeCodec.has(desc.typeName) || (desc.kind === "message" && isWrapperDesc(desc));
}

import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Printable } from "@bufbuild/protoplugin";
import { hasPresence } from "./names.ts";
import type { OutputFile } from "./output-file.ts";

/** The members of an empty message as protobuf-es creates it: fields without presence have defaults. */
export function zeroMembers(f: OutputFile, desc: DescMessage): Printable {
  const members: Printable[] = ["$typeName: ", f.string(desc.typeName)];
  for (const member of desc.members) {
    if (member.kind === "oneof") {
      members.push(", ", member.localName, ": { case: undefined }");
    } else if (!hasPresence(member)) {
      members.push(", ", member.localName, ": ", zero(member));
    }
  }
  return members;
}

function zero(field: DescField): Printable {
  switch (field.fieldKind) {
    case "list":
      return "[]";
    case "map":
      return "{}";
    case "scalar":
      switch (field.scalar) {
        case ScalarType.STRING:
          return '""';
        case ScalarType.BOOL:
          return "false";
        case ScalarType.BYTES:
          return "new Uint8Array(0)";
        default:
          return zeroNumber(field);
      }
    default:
      return "0";
  }
}

/** The zero of a numeric field as source text. */
export function zeroNumber(field: DescField & { fieldKind: "scalar" }): string {
  if (field.longAsString) {
    return '"0"';
  }
  switch (field.scalar) {
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return "0n";
    default:
      return "0";
  }
}

import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Printable } from "@bufbuild/protoplugin";
import { codecOf, generatedNames } from "./codec.ts";
import { isOneValue } from "./field-path.ts";
import { GenerationError } from "./generation-error.ts";
import { readNames } from "./names.ts";
import type { PluginOptions } from "./options.ts";
import type { OutputFile } from "./output-file.ts";
import { runtime } from "./output-file.ts";
import { zeroMembers } from "./zero-values.ts";

/** Emits the function that reads a message: a loop over its members, one case for each field. */
export function emitReader(f: OutputFile, desc: DescMessage, options: PluginOptions): void {
  checkNames(desc, options);
  const names = generatedNames(f, desc);
  const shape = f.importShape(desc);
  f.print(
    f.jsDoc(
      `Reads the message ${desc.typeName}.\n\n@throws JsonFieldError naming the path of what does not fit`,
    ),
  );
  f.print(
    f.export("function", names.fromJson),
    '(json: unknown, path = "", depth = ',
    runtime(f, "defaultMaxDepth", "read"),
    "): ",
    shape,
    " {",
  );
  f.print("  const object = ", runtime(f, "readObject", "read"), "(json, path, depth);");
  f.print("  const message: ", shape, " = { ", zeroMembers(f, desc), " };");
  f.print("  for (const name in object) {");
  if (desc.fields.length === 0) {
    f.print("    throw ", runtime(f, "unknownField", "json-error"), "(path, name);");
  } else {
    f.print("    const value = object[name];");
    f.print("    switch (name) {");
    for (const field of desc.fields) {
      emitCase(f, field, options);
    }
    f.print("      default:");
    f.print("        throw ", runtime(f, "unknownField", "json-error"), "(path, name);");
    f.print("    }");
  }
  f.print("  }");
  f.print("  return message;");
  f.print("}");
  f.print();
}

function emitCase(f: OutputFile, field: DescField, options: PluginOptions): void {
  const [name = field.name, alias] = readNames(field, options);
  f.print("      case ", f.string(name), ":");
  if (alias !== undefined) {
    f.print("      case ", f.string(alias), ":");
    f.print(
      "        if (name === ",
      f.string(alias),
      ") ",
      runtime(f, "refuseBoth", "read"),
      "(object, path, ",
      f.string(name),
      ", name);",
    );
  }
  const { reader } = codecOf(f, field, options);
  const path = [runtime(f, "at", "json-error"), "(path, ", f.string(name), ")"];
  const read = readExpression(f, field, reader, path);
  const keepsNull = field.fieldKind !== "list" && field.fieldKind !== "map" && takesNull(field);
  const guard = keepsNull ? "" : "if (value !== null) ";
  if (field.oneof === undefined) {
    f.print("        ", guard, "message.", field.localName, " = ", read, ";");
  } else {
    const oneof = ["message.", field.oneof.localName];
    f.print("        ", guard, "{");
    f.print(
      "          ",
      runtime(f, "refuseSecond", "read"),
      "(",
      oneof,
      ".case, ",
      path,
      ", ",
      f.string(field.oneof.name),
      ");",
    );
    f.print("          ", oneof, " = { case: ", f.string(field.localName), ", value: ", read, " };");
    f.print("        }");
  }
  f.print("        break;");
}

function readExpression(f: OutputFile, field: DescField, reader: Printable, path: Printable): Printable {
  switch (field.fieldKind) {
    case "list":
      return [runtime(f, "readList", "read"), "(value, ", path, ", depth - 1, ", reader, ")"];
    case "map":
      return [
        runtime(f, "readMap", "read"),
        "(value, ",
        path,
        ", depth - 1, ",
        keyReader(f, field.mapKey),
        ", ",
        reader,
        ")",
      ];
    default: {
      const call = Array.isArray(reader) ? ["(", reader, ")"] : reader;
      return [call, "(value, ", path, opensContainer(field) ? ", depth - 1)" : ")"];
    }
  }
}

/** Whether the value is an object or array, so that its reader counts the depth. */
function opensContainer({ message }: DescField): boolean {
  return message !== undefined && !isOneValue(message);
}

/** null is a value of these types; for all others it means unset. */
function takesNull(field: DescField): boolean {
  return (
    field.message?.typeName === "google.protobuf.Value" ||
    field.enum?.typeName === "google.protobuf.NullValue"
  );
}

function keyReader(f: OutputFile, key: ScalarType): Printable {
  const read = (name: string): Printable => runtime(f, name, "read");
  switch (key) {
    case ScalarType.BOOL:
      return read("boolKey");
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return read("int32Key");
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return read("uint32Key");
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return read("int64Key");
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return read("uint64Key");
    default:
      return read("stringKey");
  }
}

function checkNames(desc: DescMessage, options: PluginOptions): void {
  const owners = new Map<string, DescField>();
  for (const field of desc.fields) {
    for (const name of readNames(field, options)) {
      const owner = owners.get(name);
      if (owner !== undefined) {
        throw new GenerationError(
          field,
          `answers to the JSON name "${name}" as ${owner.name} does; change a name or json_name`,
        );
      }
      owners.set(name, field);
    }
  }
}

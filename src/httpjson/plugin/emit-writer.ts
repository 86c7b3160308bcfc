import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Printable } from "@bufbuild/protoplugin";
import type { Annotations } from "./annotations.ts";
import { codecOf, generatedNames } from "./codec.ts";
import { GenerationError } from "./generation-error.ts";
import { hasPresence, writtenName } from "./names.ts";
import type { PluginOptions } from "./options.ts";
import type { OutputFile } from "./output-file.ts";
import { property, runtime } from "./output-file.ts";
import { zeroNumber } from "./zero-values.ts";

/** Emits a message's type on the wire and its writer: one object literal, which the caller stringifies. */
export function emitWriter(
  f: OutputFile,
  desc: DescMessage,
  annotations: Annotations,
  options: PluginOptions,
): void {
  const names = generatedNames(f, desc);
  f.print(
    f.jsDoc(
      `JSON of the message ${desc.typeName}. Members that are undefined are left out by JSON.stringify.`,
    ),
  );
  if (desc.fields.length === 0) {
    f.print(f.export("type", names.type), " = Record<string, never>;");
    f.print();
    f.print(f.export("function", names.toJson), "(_: ", f.importShape(desc), "): ", names.type, " {");
    f.print("  return {};");
    f.print("}");
    f.print();
    return;
  }
  f.print(f.export("type", names.type), " = {");
  for (const field of desc.fields) {
    const optional = mayBeUnset(field, options) && !annotations.nullWhenUnset(field);
    const name = property(f, writtenName(field, options));
    f.print(
      "  ",
      name,
      optional ? "?: " : ": ",
      wireType(f, field, options),
      optional ? " | undefined" : annotations.nullWhenUnset(field) ? " | null" : "",
      ";",
    );
  }
  f.print("};");
  f.print();
  f.print(f.export("function", names.toJson), "(message: ", f.importShape(desc), "): ", names.type, " {");
  f.print("  return {");
  for (const field of desc.fields) {
    f.print(
      "    ",
      property(f, writtenName(field, options)),
      ": ",
      memberValue(f, field, annotations, options),
      ",",
    );
  }
  f.print("  };");
  f.print("}");
  f.print();
}

/** The field's type on the wire when it is set. */
export function wireType(f: OutputFile, field: DescField, options: PluginOptions): Printable {
  const { type } = codecOf(f, field, options);
  switch (field.fieldKind) {
    case "list":
      return ["Array<", type, ">"];
    case "map":
      return ["{ [key: string]: ", type, " }"];
    default:
      return type;
  }
}

/** An expression that writes `value`, the field's value when set. */
export function writeValue(
  f: OutputFile,
  field: DescField,
  value: Printable,
  options: PluginOptions,
): Printable {
  const { writer } = codecOf(f, field, options);
  if (writer === undefined) {
    return value;
  }
  switch (field.fieldKind) {
    case "list":
      return [value, ".map((item) => ", applied(writer), "(item))"];
    case "map":
      return [runtime(f, "mapToJson", "write"), "(", value, ", ", writer, ")"];
    default:
      return [applied(writer), "(", value, ")"];
  }
}

/** Function expressions need parentheses where they are called; names do not. */
function applied(writer: Printable): Printable {
  return Array.isArray(writer) ? ["(", writer, ")"] : writer;
}

function memberValue(
  f: OutputFile,
  field: DescField,
  annotations: Annotations,
  options: PluginOptions,
): Printable {
  const nullWhenUnset = annotations.nullWhenUnset(field);
  if (field.oneof !== undefined) {
    if (nullWhenUnset) {
      throw new GenerationError(field, "null_when_unset is not for members of a oneof; remove it");
    }
    const oneof = ["message.", field.oneof.localName];
    return [
      oneof,
      ".case === ",
      f.string(field.localName),
      " ? ",
      writeValue(f, field, [oneof, ".value"], options),
      " : undefined",
    ];
  }
  const value = ["message.", field.localName];
  if (nullWhenUnset && !hasPresence(field)) {
    throw new GenerationError(
      field,
      "null_when_unset is only for fields with presence; make it optional or remove the option",
    );
  }
  const unset = nullWhenUnset ? "null" : "undefined";
  if (!mayBeUnset(field, options)) {
    return writeValue(f, field, value, options);
  }
  if (hasPresence(field)) {
    const written = writeValue(f, field, value, options);
    if (written === value) {
      return nullWhenUnset ? [value, " ?? null"] : value;
    }
    return [value, " === undefined ? ", unset, " : ", written];
  }
  return [isDefault(field, value), " ? undefined : ", writeValue(f, field, value, options)];
}

function mayBeUnset(field: DescField, options: PluginOptions): boolean {
  return hasPresence(field) || !options.emitDefault;
}

function isDefault(field: DescField, value: Printable): Printable {
  switch (field.fieldKind) {
    case "list":
      return [value, ".length === 0"];
    case "map":
      return ["Object.keys(", value, ").length === 0"];
    case "scalar":
      switch (field.scalar) {
        case ScalarType.STRING:
          return [value, ' === ""'];
        case ScalarType.BOOL:
          return ["!", value];
        case ScalarType.BYTES:
          return [value, ".length === 0"];
        default:
          return [value, " === ", zeroNumber(field)];
      }
    default:
      return [value, " === 0"];
  }
}

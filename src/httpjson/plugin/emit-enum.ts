import type { DescEnum } from "@bufbuild/protobuf";
import type { Annotations } from "./annotations.ts";
import { generatedNames } from "./codec.ts";
import { GenerationError } from "./generation-error.ts";
import type { OutputFile } from "./output-file.ts";
import { runtime } from "./output-file.ts";

/**
 * Emits the codec of an enum. Written is `json_value`, or the value's name; read are both, and the number.
 *
 * @throws GenerationError for a json_value that another value uses or that would be mistaken for a number
 */
export function emitEnum(f: OutputFile, desc: DescEnum, annotations: Annotations, withReader: boolean): void {
  const names = generatedNames(f, desc);
  // Aliases (allow_alias) share a number; the first name is written.
  const values = [
    ...new Map(desc.values.map((value) => [value.number, desc.value[value.number] ?? value])).values(),
  ];
  const text = new Map(values.map((value) => [value, annotations.jsonValue(value) ?? value.name]));
  checkTexts(desc, annotations);

  const json = values.map((value) => f.string(text.get(value) ?? value.name));
  f.print(f.jsDoc(`JSON of the enum ${desc.typeName}: a number only where the value is unknown.`));
  f.print(
    f.export("type", names.type),
    " = ",
    json.map((each) => [each, " | "]),
    "number;",
  );
  f.print();
  f.print(f.export("function", names.toJson), "(value: ", f.importShape(desc), "): ", names.type, " {");
  f.print("  switch (value) {");
  for (const value of values) {
    f.print("    case ", value.number, ":");
    f.print("      return ", f.string(text.get(value) ?? value.name), ";");
  }
  f.print("    default:");
  f.print("      return value;");
  f.print("  }");
  f.print("}");
  f.print();
  if (!withReader) {
    return;
  }
  const known = names.toJson.replace(/ToJson$/, "Names");
  f.print("const ", known, " = ", f.array(json), ";");
  f.print();
  f.print(f.export("function", names.fromJson), "(json: unknown, path: string): ", f.importShape(desc), " {");
  f.print("  switch (json) {");
  for (const value of values) {
    const aliases = desc.values.filter((each) => each.number === value.number);
    const spellings = new Set([text.get(value) ?? value.name, ...aliases.map((each) => each.name)]);
    for (const spelling of spellings) {
      f.print("    case ", f.string(spelling), ":");
    }
    f.print("    case ", value.number, ":");
    f.print("      return ", value.number, ";");
  }
  f.print("    default:");
  f.print(
    "      return ",
    runtime(f, "readUnknownEnum", "read-scalar"),
    "(",
    f.importSchema(desc),
    ", ",
    known,
    ", json, path);",
  );
  f.print("  }");
  f.print("}");
  f.print();
}

/**
 * The names of enum values in URLs: `json_value` where any value has one, else the name. Omits the zero
 * value if it is the unspecified one (AIP-126), since omitting the parameter means the same.
 *
 * @returns undefined for an enum without `json_value`, which is read as ProtoJSON
 */
export function queryWords({ values }: DescEnum, annotations: Annotations): readonly string[] | undefined {
  if (values.every((value) => annotations.jsonValue(value) === undefined)) {
    return undefined;
  }
  const offered = values.filter(({ number, name }) => number !== 0 || !name.endsWith("_UNSPECIFIED"));
  return offered.map((value) => annotations.jsonValue(value) ?? value.name);
}

function checkTexts(desc: DescEnum, annotations: Annotations): void {
  const owners = new Map(desc.values.map((value) => [value.name, value.number]));
  for (const value of desc.values) {
    const text = annotations.jsonValue(value);
    if (text === undefined) {
      continue;
    }
    if (text === "" || /^-?\d+$/.test(text)) {
      throw new GenerationError(
        value,
        `json_value "${text}" would be mistaken for a number or for nothing; use a word`,
      );
    }
    const owner = owners.get(text);
    if (owner !== undefined && owner !== value.number) {
      throw new GenerationError(
        value,
        `json_value "${text}" stands for another value of the enum already; make it unique`,
      );
    }
    owners.set(text, value.number);
  }
}

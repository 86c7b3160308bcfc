import type { DescEnum, DescFile, DescMessage } from "@bufbuild/protobuf";
import type { GeneratedFile, ImportSymbol, Printable, Schema } from "@bufbuild/protoplugin";

/** A `<name>_http.ts` in the making. */
export interface OutputFile extends GeneratedFile {
  readonly source: DescFile;
}

export function openOutputFile(schema: Schema, source: DescFile): OutputFile {
  const f = schema.generateFile(`${source.name}_http.ts`);
  f.preamble(source);
  return { ...f, source };
}

/** Imports from the runtime by package.json "imports", so that generated files can be anywhere. */
export function runtime(f: GeneratedFile, name: string, file: string, typeOnly = false): ImportSymbol {
  return f.import(name, `#httpjson/runtime/${file}.ts`, typeOnly);
}

/** A name generated next to the file that defines `desc`, imported unless that is this file. */
export function generated(
  f: OutputFile,
  desc: DescMessage | DescEnum,
  name: string,
  typeOnly = false,
): Printable {
  return desc.file.name === f.source.name ? name : f.import(name, `./${desc.file.name}_http.ts`, typeOnly);
}

/** A property name of an object literal or type. */
export function property(f: OutputFile, name: string): Printable {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : f.string(name);
}

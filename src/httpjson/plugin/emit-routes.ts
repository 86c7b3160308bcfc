import type { DescField, DescService } from "@bufbuild/protobuf";
import type { Printable } from "@bufbuild/protoplugin";
import type { Annotations } from "./annotations.ts";
import { typeCodec } from "./codec.ts";
import { queryWords } from "./emit-enum.ts";
import { wireType, writeValue } from "./emit-writer.ts";
import type { FieldPath, QueryField } from "./field-path.ts";
import { parameterKind } from "./field-path.ts";
import type { Binding } from "./http-rule.ts";
import { hasPresence, readNames, writtenName } from "./names.ts";
import type { PluginOptions } from "./options.ts";
import type { OutputFile } from "./output-file.ts";
import { runtime } from "./output-file.ts";

/** Emits a service's route table. @returns its name */
export function emitRoutes(
  f: OutputFile,
  service: DescService,
  bindings: readonly Binding[],
  annotations: Annotations,
  options: PluginOptions,
): string {
  const schema = f.importSchema(service);
  const name = `${schema.name.charAt(0).toLowerCase()}${schema.name.slice(1)}Routes`;
  f.print(f.jsDoc(`HTTP routes of the service ${service.typeName}, from its google.api.http annotations.`));
  f.print(f.export("const", name), " = {");
  f.print("  service: ", schema, ",");
  f.print("  routes: [");
  for (const binding of bindings) {
    emitRoute(f, schema, binding, annotations, options);
  }
  f.print("  ],");
  f.print("} satisfies ", runtime(f, "ServiceRoutes", "route", true), ";");
  f.print();
  return name;
}

function emitRoute(
  f: OutputFile,
  schema: Printable,
  binding: Binding,
  annotations: Annotations,
  options: PluginOptions,
): void {
  const { method, template, body } = binding;
  const bodyName = body === undefined ? "" : body === "*" ? "*" : writtenName(body, options);
  f.print("    {");
  f.print("      method: ", schema, ".method.", method.localName, ",");
  f.print("      httpMethod: ", f.string(binding.httpMethod), ",");
  f.print("      pattern: ", f.string(binding.pattern), ",");
  f.print("      segments: ", f.array(template.segments.map((segment) => f.string(segment))), ",");
  f.print("      verb: ", f.string(template.verb), ",");
  emitVariables(f, binding, annotations, options);
  emitQuery(f, binding.query, annotations, options);
  f.print("      unknownQuery: ", f.string(options.unknownQuery), ",");
  f.print("      body: ", f.string(bodyName), ",");
  f.print("      read: ", typeCodec(f, method.input, options).reader, ",");
  f.print("      write: ", responseWriter(f, binding, options), ",");
  f.print("    },");
}

function emitVariables(
  f: OutputFile,
  { variables }: Binding,
  annotations: Annotations,
  options: PluginOptions,
): void {
  if (variables.length === 0) {
    f.print("      variables: [],");
    return;
  }
  f.print("      variables: [");
  for (const { variable, path } of variables) {
    const end = variable.end === undefined ? "" : `, end: ${variable.end}`;
    const kind = kindOf(path);
    const where = `start: ${variable.start}${end}, multi: ${variable.multi}`;
    f.print(
      "        { path: ",
      pathLiteral(f, path, options),
      ", kind: ",
      f.string(kind),
      wordsOf(f, path, annotations),
      ", repeated: false, ",
      where,
      " },",
    );
  }
  f.print("      ],");
}

function kindOf(path: FieldPath): string {
  const field = path.at(-1);
  return (field && parameterKind(field)) ?? "text";
}

/** The member `words` of a parameter whose enum has `json_value`. */
function wordsOf(f: OutputFile, path: FieldPath, annotations: Annotations): Printable {
  const desc = path.at(-1)?.enum;
  const words = desc && queryWords(desc, annotations);
  return words === undefined ? [] : [", words: ", f.array(words.map((word) => f.string(word)))];
}

function emitQuery(
  f: OutputFile,
  query: readonly QueryField[],
  annotations: Annotations,
  options: PluginOptions,
): void {
  const map = ["new Map<string, ", runtime(f, "Parameter", "route", true), ">("];
  if (query.length === 0) {
    f.print("      query: ", map, "),");
    return;
  }
  f.print("      query: ", map, "[");
  for (const { path, kind, repeated } of query) {
    const value = [
      "{ path: ",
      pathLiteral(f, path, options),
      ", kind: ",
      f.string(kind),
      wordsOf(f, path, annotations),
      ", repeated: ",
      repeated,
      " }",
    ];
    for (const spelling of spellings(path)) {
      f.print("        [", f.string(spelling), ", ", value, "],");
    }
  }
  f.print("      ]),");
}

/** Every way to write a dotted path, each step under its proto name or its JSON name. */
function spellings(path: FieldPath): string[] {
  return path.reduce<string[]>(
    (prefixes, { name, jsonName }) =>
      prefixes.flatMap((prefix) =>
        [...new Set([name, jsonName])].map((step) => (prefix === "" ? step : `${prefix}.${step}`)),
      ),
    [""],
  );
}

function pathLiteral(f: OutputFile, path: FieldPath, options: PluginOptions): Printable {
  return f.array(path.map((field) => f.array(readNames(field, options).map((name) => f.string(name)))));
}

function responseWriter(f: OutputFile, { method, responseBody }: Binding, options: PluginOptions): Printable {
  if (responseBody === undefined) {
    return typeCodec(f, method.output, options).writer ?? runtime(f, "asIs", "well-known");
  }
  const type = wireType(f, responseBody, options);
  const [value, unset] = responseValue(f, responseBody);
  const written = writeValue(f, responseBody, value, options);
  return unset === undefined
    ? ["(response: ", f.importShape(method.output), "): ", type, " => ", written]
    : [
        "(response: ",
        f.importShape(method.output),
        "): ",
        type,
        " | null => (",
        unset,
        " ? null : ",
        written,
        ")",
      ];
}

/** The response field's value, and the condition under which it is unset: the body is `null` then. */
function responseValue(f: OutputFile, field: DescField): [value: Printable, unset: Printable | undefined] {
  if (field.oneof !== undefined) {
    const oneof = ["response.", field.oneof.localName];
    return [
      [oneof, ".value"],
      [oneof, ".case !== ", f.string(field.localName)],
    ];
  }
  const value = ["response.", field.localName];
  return [value, hasPresence(field) ? [value, " === undefined"] : undefined];
}

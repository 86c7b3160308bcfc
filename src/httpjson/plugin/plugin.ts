import { create } from "@bufbuild/protobuf";
import { CodeGeneratorRequestSchema } from "@bufbuild/protobuf/wkt";
import { type Plugin, type Schema, createEcmaScriptPlugin } from "@bufbuild/protoplugin";
import { findAnnotations, type Annotations } from "./annotations.ts";
import { checkDistinct } from "./check-distinct.ts";
import { generatedNames } from "./codec.ts";
import { emitEnum } from "./emit-enum.ts";
import { emitReader } from "./emit-reader.ts";
import { emitRoutes } from "./emit-routes.ts";
import { emitWriter } from "./emit-writer.ts";
import { type Binding, bindingsOf } from "./http-rule.ts";
import { type PluginOptions, parseOptions } from "./options.ts";
import { type OutputFile, openOutputFile, runtime } from "./output-file.ts";
import { findReachable, type Reachable } from "./reachable.ts";
import path from "node:path";

const inner = createEcmaScriptPlugin({
  name: "protoc-gen-httpjson",
  version: "v1",
  parseOptions,
  generateTs: generate,
});

/** The protoc plugin: a `<name>_http.ts` next to `<name>_pb.ts` for files with routes or error bodies. */
export const plugin: Plugin = {
  ...inner,
  run: (request) =>
    inner.run(create(CodeGeneratorRequestSchema, { ...request, parameter: withTarget(request.parameter) })),
};

function withTarget(parameter: string): string {
  return ["target=ts", "import_extension=ts", ...(parameter === "" ? [] : [parameter])].join(",");
}

function generate(schema: Schema<PluginOptions>): void {
  const annotations = findAnnotations(schema.allFiles);
  const bindings = schema.files
    .flatMap(({ services }) => services.flatMap(({ methods }) => methods))
    .flatMap((method) => {
      const rule = annotations.http(method);
      return rule === undefined ? [] : bindingsOf(method, rule);
    });
  checkDistinct(bindings);
  const reachable = findReachable(schema.files, bindings, annotations);
  const context = { annotations, bindings, reachable };
  emitIndexes(
    schema,
    schema.files.map((file) => emitFile(openOutputFile(schema, file), schema, context)),
  );
}

interface Context {
  readonly annotations: Annotations;
  readonly bindings: readonly Binding[];
  readonly reachable: Reachable;
}

function emitFile(
  f: OutputFile,
  schema: Schema<PluginOptions>,
  { annotations, bindings, reachable }: Context,
): Exports {
  const routes: string[] = [];
  const errors = [];
  for (const desc of schema.typesInFile(f.source)) {
    switch (desc.kind) {
      case "service": {
        const own = bindings.filter(({ method }) => method.parent === desc);
        if (own.length > 0) {
          routes.push(emitRoutes(f, desc, own, annotations, schema.options));
        }
        break;
      }
      case "enum":
        if (reachable.written.has(desc)) {
          emitEnum(f, desc, annotations, reachable.read.has(desc));
        }
        break;
      case "message": {
        if (!reachable.written.has(desc)) {
          break;
        }
        emitWriter(f, desc, annotations, schema.options);
        if (reachable.read.has(desc)) {
          emitReader(f, desc, schema.options);
        }
        const status = annotations.errorStatus(desc);
        if (status !== undefined) {
          errors.push({ desc, status });
        }
        break;
      }
      case "extension":
        break;
    }
  }
  if (errors.length > 0) {
    f.print(f.jsDoc("Messages that are error bodies, with their HTTP status; 0 where the error decides."));
    f.print(f.export("const", "errorBindings"), " = [");
    for (const { desc, status } of errors) {
      f.print(
        "  ",
        runtime(f, "errorBinding", "error-body"),
        "(",
        f.importSchema(desc),
        ", ",
        status,
        ", ",
        generatedNames(f, desc).toJson,
        "),",
      );
    }
    f.print("];");
  }
  return { file: f.source.name, routes, hasErrors: errors.length > 0 };
}

/** Exports of a `<name>_http.ts` for the index of its folder. */
interface Exports {
  /** File name without its ending, e.g. `toolgate/v1/tool_service`. */
  readonly file: string;
  /** Names of its route tables. */
  readonly routes: readonly string[];
  readonly hasErrors: boolean;
}

/** Emits `index_http.ts` of each folder with routes: all its route tables and error bodies. */
function emitIndexes(schema: Schema, files: readonly Exports[]): void {
  const folders = new Set(
    files.filter(({ routes }) => routes.length > 0).map(({ file }) => path.posix.dirname(file)),
  );
  for (const folder of folders) {
    const f = schema.generateFile(path.posix.join(folder, "index_http.ts"));
    const own = files.filter(({ file }) => path.posix.dirname(file) === folder);
    f.print(f.jsDoc("The HTTP routes of all services of this folder."));
    f.print(f.export("const", "routes"), ": readonly ", runtime(f, "ServiceRoutes", "route", true), "[] = [");
    for (const { file, routes } of own) {
      for (const name of routes) f.print("  ", f.import(name, `./${file}_http.ts`), ",");
    }
    f.print("];");
    f.print();
    f.print(f.jsDoc("Messages of this folder that are error bodies."));
    f.print(
      f.export("const", "errorBindings"),
      ": readonly ",
      runtime(f, "ErrorBinding", "error-body", true),
      "[] = [",
    );
    for (const { file } of own.filter(({ hasErrors }) => hasErrors)) {
      f.print("  ...", f.import("errorBindings", `./${file}_http.ts`), ",");
    }
    f.print("];");
  }
}

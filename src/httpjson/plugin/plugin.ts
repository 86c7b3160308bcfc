import { create } from "@bufbuild/protobuf";
import { CodeGeneratorRequestSchema } from "@bufbuild/protobuf/wkt";
import type { Plugin, Schema } from "@bufbuild/protoplugin";
import { createEcmaScriptPlugin } from "@bufbuild/protoplugin";
import { findAnnotations } from "./annotations.ts";
import type { Annotations } from "./annotations.ts";
import { checkDistinct } from "./check-distinct.ts";
import { generatedNames } from "./codec.ts";
import { emitEnum } from "./emit-enum.ts";
import { emitReader } from "./emit-reader.ts";
import { emitRoutes } from "./emit-routes.ts";
import { emitWriter } from "./emit-writer.ts";
import { emitIndexes, type Exports } from "./emit-index.ts";
import type { Binding } from "./http-rule.ts";
import { bindingsOf } from "./http-rule.ts";
import type { PluginOptions } from "./options.ts";
import { parseOptions } from "./options.ts";
import type { OutputFile } from "./output-file.ts";
import { openOutputFile, runtime } from "./output-file.ts";
import { findReachable } from "./reachable.ts";
import type { Reachable } from "./reachable.ts";

const inner = createEcmaScriptPlugin({
  name: "protoc-gen-httpjson",
  version: "v1",
  parseOptions,
  generateTs: generate,
});

/**
 * The protoc plugin: for every file with `google.api.http` routes, messages they use, or error bodies, a
 * `<name>_http.ts` next to protoc-gen-es's `<name>_pb.ts`. It always writes TypeScript with `.ts` imports.
 */
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

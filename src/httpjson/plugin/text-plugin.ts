import {
  create,
  createFileRegistry,
  maximumEdition,
  minimumEdition,
  type DescFile,
} from "@bufbuild/protobuf";
import {
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { Plugin } from "@bufbuild/protoplugin";
import { parseOptions, type PluginOptions } from "./options.ts";

/** Input of a plugin that writes text from descriptors. */
export interface Input {
  readonly files: readonly DescFile[];
  /** These and their imports. */
  readonly allFiles: readonly DescFile[];
  readonly options: PluginOptions;
}

export interface Output {
  readonly name: string;
  readonly content: string;
}

/** A protoc plugin without ECMAScript. Needs all files (`strategy: all`) and the generator's options. */
export function textPlugin(name: string, generate: (input: Input) => Iterable<Output>): Plugin {
  return {
    name,
    version: "v1",
    run(request) {
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }));
      const allFiles = [...registry.files];
      const wanted = new Set(request.fileToGenerate);
      const files = allFiles.filter(({ proto }) => wanted.has(proto.name));
      return create(CodeGeneratorResponseSchema, {
        supportedFeatures: BigInt(
          CodeGeneratorResponse_Feature.PROTO3_OPTIONAL | CodeGeneratorResponse_Feature.SUPPORTS_EDITIONS,
        ),
        minimumEdition,
        maximumEdition,
        file: [...generate({ files, allFiles, options: parseOptions(pairs(request.parameter)) })],
      });
    },
  };
}

function pairs(parameter: string): { key: string; value: string }[] {
  return parameter
    .split(",")
    .filter((part) => part !== "")
    .map((part) => {
      const mark = part.indexOf("=");
      return mark < 0 ? { key: part, value: "" } : { key: part.slice(0, mark), value: part.slice(mark + 1) };
    });
}

import { type DescMessage, type DescMethod, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { isObject } from "./well-known-schema.ts";
import { type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { readSettingFile, type SettingFiles } from "../setting-file.ts";
import { missingImports, registryOf } from "./file-registry.ts";

export interface UnaryMethod {
  readonly method: DescMethod;
  /** For messages inside google.protobuf.Any. */
  readonly registry: FileRegistry;
}

/** Finds a method by `package.Service/Method`. @throws Error with a message for the operator */
export function unaryMethod(registry: FileRegistry, path: string): UnaryMethod {
  const [service = "", name = ""] = path.split("/");
  const declared = registry.getService(service);
  if (!declared) {
    const names = [...registry].flatMap((type) => (type.kind === "service" ? [type.typeName] : []));
    throw new Error(`the service ${service} does not exist${listed(names)}`);
  }
  const method = declared.methods.find((one) => one.name === name);
  if (!method)
    throw new Error(`${service} has no method ${name}${listed(declared.methods.map((one) => one.name))}`);
  if (method.methodKind !== "unary")
    throw new Error(`${path} is a streaming method; only unary methods can be tools`);
  requireObject(path, "takes", method.input);
  requireObject(path, "answers with", method.output);
  return { method, registry };
}

function requireObject(path: string, does: string, message: DescMessage): void {
  if (!isObject(message))
    throw new Error(`${path} ${does} ${message.typeName}, which is not an object in JSON`);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "" : `; there is ${names.slice(0, 20).join(", ")}`;
}

/** Reads a google.protobuf.FileDescriptorSet. @throws Error with a message for the operator */
export async function readDescriptorSet(file: string, stored?: SettingFiles): Promise<FileRegistry> {
  const files = new Map(parse(file, await read(file, stored)).file.map((one) => [one.name, one]));
  const [missing] = missingImports(files);
  if (missing !== undefined)
    throw new Error(
      `the descriptor set ${file} imports ${missing} and does not hold it; build it with its imports ` +
        "(buf build -o, or protoc --include_imports)",
    );
  return registryOf(files);
}

async function read(file: string, stored?: SettingFiles): Promise<Uint8Array> {
  try {
    return await readSettingFile(file, stored);
  } catch (cause) {
    throw new Error(`the descriptor set ${file} cannot be read`, { cause });
  }
}

function parse(file: string, bytes: Uint8Array): FileDescriptorSet {
  try {
    return fromBinary(FileDescriptorSetSchema, bytes);
  } catch (cause) {
    throw new Error(
      `${file} is not a binary google.protobuf.FileDescriptorSet; build it with buf build -o, or ` +
        "protoc --descriptor_set_out",
      { cause },
    );
  }
}

import { fromBinary, type FileRegistry } from "@bufbuild/protobuf";
import { type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { readSettingFile, type SettingFiles } from "../setting-file.ts";
import { missingImports, registryOf } from "./file-registry.ts";

/**
 * Reads a google.protobuf.FileDescriptorSet.
 * @throws Error with a message for the operator
 */
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

import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { createFileRegistry, fromBinary, type DescMessage, type FileRegistry } from "@bufbuild/protobuf";
import { type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** Types of `proto/odd.proto`. */
export interface OddTypes {
  /** Descriptor set with comments and imports. */
  file: string;
  set: FileDescriptorSet;
  registry: FileRegistry;
  message(name: string): DescMessage;
}

const CONFIG = JSON.stringify({
  version: "v2",
  modules: [{ path: "proto" }, { path: "test/tools/custom/grpc/proto" }],
});

/** Builds the descriptor set as an operator would. */
export async function buildOddTypes(): Promise<OddTypes> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "odd-types-")), "odd.binpb");
  const args = ["build", "test/tools/custom/grpc/proto", "--config", CONFIG, "-o", file];
  await promisify(execFile)("buf", args, { cwd: path.resolve(import.meta.dirname, "../../../..") });
  const set = fromBinary(FileDescriptorSetSchema, await readFile(file));
  const registry = createFileRegistry(set);
  return {
    file,
    set,
    registry,
    message(name) {
      const message = registry.getMessage(`odd.v1.${name}`);
      if (!message) throw new Error(`there is no message ${name}`);
      return message;
    },
  };
}

import { createFileRegistry, create, type FileRegistry } from "@bufbuild/protobuf";
import {
  file_google_protobuf_any,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_source_context,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_type,
  file_google_protobuf_wrappers,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { completeFiles } from "./complete-files.ts";

/** Well-known types. A server's own copies are ignored, since the library defines their JSON form. */
const BUILT_IN: ReadonlyMap<string, FileDescriptorProto> = new Map(
  [
    file_google_protobuf_any,
    file_google_protobuf_api,
    file_google_protobuf_descriptor,
    file_google_protobuf_duration,
    file_google_protobuf_empty,
    file_google_protobuf_field_mask,
    file_google_protobuf_source_context,
    file_google_protobuf_struct,
    file_google_protobuf_timestamp,
    file_google_protobuf_type,
    file_google_protobuf_wrappers,
  ].map(({ proto }) => [proto.name, proto]),
);

/** Returns imports that are neither in the files nor well-known. */
export function missingImports(files: ReadonlyMap<string, FileDescriptorProto>): string[] {
  const imports = [...files.values()].flatMap(({ dependency }) => dependency);
  return [...new Set(imports)].filter((name) => !files.has(name) && !BUILT_IN.has(name));
}

/** Returns whether the library has the types of a file, whatever its name is there. */
function isBuiltIn({ name, package: scope }: FileDescriptorProto): boolean {
  return BUILT_IN.has(name) || scope === "google.protobuf";
}

/** Completes the files. @returns types that neither they nor the library declare */
export function missingTypes(files: ReadonlyMap<string, FileDescriptorProto>): ReadonlySet<string> {
  return completeFiles(
    [...files.values()].filter((file) => !isBuiltIn(file)),
    BUILT_IN.values(),
  );
}

/** @throws Error if files contradict each other or a type is missing */
export function registryOf(files: ReadonlyMap<string, FileDescriptorProto>): FileRegistry {
  const [missing] = missingTypes(files);
  if (missing !== undefined) throw new Error(`the type ${missing} is not declared`);
  const ordered = new Set<FileDescriptorProto>();
  const visited = new Set<string>();
  const visit = (name: string): void => {
    if (visited.has(name)) return;
    visited.add(name);
    const file = BUILT_IN.get(name) ?? files.get(name);
    if (!file) return;
    // Imports come first.
    for (const imported of file.dependency) visit(imported);
    ordered.add(file);
  };
  for (const [name, file] of files) if (!isBuiltIn(file)) visit(name);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...ordered] }));
}

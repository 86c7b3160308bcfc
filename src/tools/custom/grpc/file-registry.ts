import { createFileRegistry, create, type FileRegistry } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { completeFiles } from "./complete-files.ts";

/** Well-known types. A server's own copies are ignored, since the library defines their JSON form. */
const BUILT_IN: ReadonlyMap<string, FileDescriptorProto> = new Map(
  Object.values(wellKnown).flatMap((value) =>
    "kind" in value && value.kind === "file" ? [[value.proto.name, value.proto] as const] : [],
  ),
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
  const visit = (name: string, above: readonly string[]): void => {
    if (above.includes(name))
      throw new Error(
        `the files ${[...above.slice(above.indexOf(name)), name].join(" → ")} import each other; set ` +
          "descriptor_set to one that protoc or buf builds from the sources",
      );
    if (visited.has(name)) return;
    visited.add(name);
    const file = BUILT_IN.get(name) ?? files.get(name);
    if (!file) return;
    // Imports come first.
    for (const imported of file.dependency) visit(imported, [...above, name]);
    ordered.add(file);
  };
  for (const [name, file] of files) if (!isBuiltIn(file)) visit(name, []);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...ordered] }));
}

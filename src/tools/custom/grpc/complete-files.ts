import { isFieldSet } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import {
  FieldDescriptorProto_Type as Type,
  FieldDescriptorProtoSchema,
  type DescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";

interface Declared {
  /** Name of the file. */
  readonly file: string;
  readonly type: Type;
}

/**
 * Fills in what protoc writes and servers leave out of their reflection: names in JSON (grpcio, Java), full
 * names of types, imports and optional fields of proto3 (`@grpc/reflection`). Imports are those that types
 * need: a server may lack the files of its options.
 * @returns types that no file declares, as they may be named in full
 */
export function completeFiles(
  files: Iterable<FileDescriptorProto>,
  builtIn: Iterable<FileDescriptorProto>,
): ReadonlySet<string> {
  const own = [...files];
  const types = new Map<string, Declared>();
  for (const file of [...own, ...builtIn]) declare(file, types);
  const missing = new Set<string>();
  for (const file of own) new Completion(file, types, missing).run();
  return missing;
}

function declare(
  { name: file, package: scope, messageType, enumType }: FileDescriptorProto,
  types: Map<string, Declared>,
) {
  const add = (
    prefix: string,
    messages: readonly DescriptorProto[],
    enums: readonly { name: string }[],
  ): void => {
    for (const { name } of enums) types.set(within(prefix, name), { file, type: Type.ENUM });
    for (const message of messages) {
      const full = within(prefix, message.name);
      types.set(full, { file, type: Type.MESSAGE });
      add(full, message.nestedType, message.enumType);
    }
  };
  add(scope, messageType, enumType);
}

function within(scope: string, name: string): string {
  return scope === "" ? name : `${scope}.${name}`;
}

class Completion {
  readonly #file: FileDescriptorProto;
  readonly #types: ReadonlyMap<string, Declared>;
  readonly #missing: Set<string>;
  readonly #imports = new Set<string>();

  constructor(file: FileDescriptorProto, types: ReadonlyMap<string, Declared>, missing: Set<string>) {
    this.#file = file;
    this.#types = types;
    this.#missing = missing;
  }

  run(): void {
    const file = this.#file;
    for (const message of file.messageType) this.#message(message, within(file.package, message.name));
    for (const { name, method } of file.service) {
      for (const one of method) {
        one.inputType = this.#named(one.inputType, within(file.package, name));
        one.outputType = this.#named(one.outputType, within(file.package, name));
      }
    }
    file.extension = this.#usable(file.extension, file.package);
    this.#imports.delete(file.name);
    file.dependency = [...this.#imports];
    file.publicDependency = [];
    file.weakDependency = [];
  }

  #message(message: DescriptorProto, full: string): void {
    for (const nested of message.nestedType) this.#message(nested, within(full, nested.name));
    for (const field of message.field) {
      this.#field(field, full);
      if (isSynthetic(field, message)) field.proto3Optional = true;
    }
    message.extension = this.#usable(message.extension, full);
  }

  #field(field: FieldDescriptorProto, scope: string): void {
    if (field.jsonName === "") field.jsonName = protoCamelCase(field.name);
    if (field.typeName === "") return;
    field.typeName = this.#named(field.typeName, scope);
    // It may be left out beside the name (descriptor.proto).
    if (!isFieldSet(field, FieldDescriptorProtoSchema.field.type))
      field.type = this.#types.get(field.typeName.slice(1))?.type ?? Type.MESSAGE;
  }

  /** Extensions are options mostly: those of types that are not there change nothing. */
  #usable(extensions: readonly FieldDescriptorProto[], scope: string): FieldDescriptorProto[] {
    return extensions.filter((field) => {
      const names = [field.extendee, field.typeName].filter((name) => name !== "");
      if (names.some((name) => this.#find(name, scope) === undefined)) return false;
      field.extendee = this.#named(field.extendee, scope);
      this.#field(field, scope);
      return true;
    });
  }

  /** Returns the full name of a type with a dot before it, and notes its file. */
  #named(name: string, scope: string): string {
    const full = this.#find(name, scope);
    if (full === undefined) {
      const wanted = name.includes(".") ? name.replace(/^\./, "") : within(this.#file.package, name);
      this.#missing.add(wanted);
      return name;
    }
    const declared = this.#types.get(full);
    if (declared) this.#imports.add(declared.file);
    return `.${full}`;
  }

  /** A name without a dot before it is looked up from the innermost scope outwards (descriptor.proto). */
  #find(name: string, scope: string): string | undefined {
    if (name.startsWith(".")) return this.#types.has(name.slice(1)) ? name.slice(1) : undefined;
    for (let outer = scope; ; outer = outer.slice(0, Math.max(outer.lastIndexOf("."), 0))) {
      const full = within(outer, name);
      if (this.#types.has(full)) return full;
      if (outer === "") return undefined;
    }
  }
}

/** Whether a field is the only one of a oneof that protoc makes for `optional` of proto3. */
function isSynthetic(field: FieldDescriptorProto, { field: all, oneofDecl }: DescriptorProto): boolean {
  if (!isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex)) return false;
  const { oneofIndex } = field;
  if (oneofDecl[oneofIndex]?.name !== `_${field.name}`) return false;
  return (
    all.filter(
      (one) => isFieldSet(one, FieldDescriptorProtoSchema.field.oneofIndex) && one.oneofIndex === oneofIndex,
    ).length === 1
  );
}

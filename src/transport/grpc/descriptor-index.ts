import { toBinary, type DescExtension, type DescFile } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** Finds descriptors the ways in which server reflection is asked for them. */
export class DescriptorIndex {
  readonly #byName = new Map<string, DescFile>();
  readonly #bySymbol = new Map<string, DescFile>();
  /** Extensions by the type that they extend, then by number. */
  readonly #extensions = new Map<string, Map<number, DescExtension>>();
  readonly #encoded = new Map<DescFile, Uint8Array>();

  /** Indexes the files and all that they import. */
  constructor(files: Iterable<DescFile>) {
    for (const file of files) this.#add(file);
  }

  /** The file of that name, e.g. `toolgate/v1/tool.proto`. */
  fileNamed(name: string): DescFile | undefined {
    return this.#byName.get(name);
  }

  /** The file that declares a service, method, message, enum or extension, by its full name without a leading dot. */
  fileDeclaring(symbol: string): DescFile | undefined {
    return this.#bySymbol.get(symbol);
  }

  /** The file that declares the extension of that number. */
  fileExtending(typeName: string, extensionNumber: number): DescFile | undefined {
    return this.#extensions.get(typeName)?.get(extensionNumber)?.file;
  }

  /** Numbers of the known extensions of a message; undefined when there is no such message. */
  extensionNumbers(typeName: string): number[] | undefined {
    if (!this.#bySymbol.has(typeName)) return undefined;
    return [...(this.#extensions.get(typeName)?.keys() ?? [])];
  }

  /** A file as an element of FileDescriptorResponse.file_descriptor_proto, encoded. */
  encoded(file: DescFile): Uint8Array {
    let bytes = this.#encoded.get(file);
    if (!bytes) {
      const descriptor = toBinary(FileDescriptorProtoSchema, file.proto);
      bytes = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(descriptor).finish();
      this.#encoded.set(file, bytes);
    }
    return bytes;
  }

  #add(file: DescFile): void {
    if (this.#byName.has(file.proto.name)) return;
    this.#byName.set(file.proto.name, file);
    for (const type of nestedTypes(file)) {
      this.#bySymbol.set(type.typeName, file);
      if (type.kind === "extension") this.#extensionsOf(type.extendee.typeName).set(type.number, type);
      if (type.kind === "service")
        for (const { name } of type.methods) this.#bySymbol.set(`${type.typeName}.${name}`, file);
    }
    for (const dependency of file.dependencies) this.#add(dependency);
  }

  #extensionsOf(typeName: string): Map<number, DescExtension> {
    let extensions = this.#extensions.get(typeName);
    if (!extensions) {
      extensions = new Map();
      this.#extensions.set(typeName, extensions);
    }
    return extensions;
  }
}

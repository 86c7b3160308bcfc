import { toBinary, type DescExtension, type DescFile } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** Finds descriptors for server reflection. */
export class DescriptorIndex {
  readonly #byName = new Map<string, DescFile>();
  readonly #bySymbol = new Map<string, DescFile>();
  /** By extended type, then by number. */
  readonly #extensions = new Map<string, Map<number, DescExtension>>();
  readonly #encoded = new Map<DescFile, Uint8Array>();

  /** Indexes the files and their imports. */
  constructor(files: Iterable<DescFile>) {
    for (const file of files) this.#add(file);
  }

  /** Returns a file by name, such as `toolgate/v1/tool.proto`. */
  fileNamed(name: string): DescFile | undefined {
    return this.#byName.get(name);
  }

  /** Returns the file that declares a symbol, by full name without a leading dot. */
  fileDeclaring(symbol: string): DescFile | undefined {
    return this.#bySymbol.get(symbol);
  }

  /** Returns the file that declares an extension. */
  fileExtending(typeName: string, extensionNumber: number): DescFile | undefined {
    return this.#extensions.get(typeName)?.get(extensionNumber)?.file;
  }

  /** Returns the extension numbers of a message; undefined for an unknown message. */
  extensionNumbers(typeName: string): number[] | undefined {
    if (!this.#bySymbol.has(typeName)) return undefined;
    return [...(this.#extensions.get(typeName)?.keys() ?? [])];
  }

  /** Returns a file encoded as an element of FileDescriptorResponse.file_descriptor_proto. */
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

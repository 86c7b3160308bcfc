import type { AnyDesc, DescFile } from "@bufbuild/protobuf";

/** Characters. */
const MAX_LENGTH = 1_000;

/** Leading comments by declaration path, joined with commas. */
const indexes = new WeakMap<DescFile, ReadonlyMap<string, string>>();

/** Returns the comment above a declaration, if the descriptor includes source info. */
export function commentAbove(desc: AnyDesc): string | undefined {
  const path = pathOf(desc);
  const file = desc.kind === "file" ? desc : fileOf(desc);
  const comment = indexOf(file).get(path.join(","));
  if (comment === undefined) return undefined;
  const text = comment.replaceAll(/^ /gm, "").trim().toWellFormed();
  return text === "" ? undefined : text.slice(0, MAX_LENGTH);
}

function indexOf(file: DescFile): ReadonlyMap<string, string> {
  let index = indexes.get(file);
  if (!index) {
    const locations = file.proto.sourceCodeInfo?.location ?? [];
    index = new Map(locations.map(({ path, leadingComments }) => [path.join(","), leadingComments]));
    indexes.set(file, index);
  }
  return index;
}

function fileOf(desc: Exclude<AnyDesc, DescFile>): DescFile {
  return "file" in desc ? desc.file : desc.parent.file;
}

/** SourceCodeInfo path of a declaration (google/protobuf/descriptor.proto). */
function pathOf(desc: AnyDesc): number[] {
  switch (desc.kind) {
    case "message":
      return desc.parent
        ? [...pathOf(desc.parent), 3, desc.parent.proto.nestedType.indexOf(desc.proto)]
        : [4, desc.file.proto.messageType.indexOf(desc.proto)];
    case "enum":
      return desc.parent
        ? [...pathOf(desc.parent), 4, desc.parent.proto.enumType.indexOf(desc.proto)]
        : [5, desc.file.proto.enumType.indexOf(desc.proto)];
    case "field":
      return [...pathOf(desc.parent), 2, desc.parent.proto.field.indexOf(desc.proto)];
    case "service":
      return [6, desc.file.proto.service.indexOf(desc.proto)];
    case "rpc":
      return [...pathOf(desc.parent), 2, desc.parent.proto.method.indexOf(desc.proto)];
    default:
      return [-1];
  }
}

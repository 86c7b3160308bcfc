import type { AnyDesc } from "@bufbuild/protobuf";

/** A proto that cannot be served as HTTP/JSON. Names the file, the element and the remedy. */
export class GenerationError extends Error {
  constructor(where: AnyDesc, problem: string) {
    super(`${fileOf(where)}: ${where.toString()}: ${problem}`);
    this.name = "GenerationError";
  }
}

function fileOf(desc: AnyDesc): string {
  switch (desc.kind) {
    case "file":
      return desc.proto.name;
    case "enum":
    case "message":
    case "service":
    case "extension":
      return desc.file.proto.name;
    case "field":
    case "oneof":
    case "enum_value":
    case "rpc":
      return desc.parent.file.proto.name;
  }
}

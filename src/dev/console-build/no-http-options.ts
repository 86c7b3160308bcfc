import { fileDesc, type GenFile } from "@bufbuild/protobuf/codegenv2";

const DESCRIPTOR = "ChlodHRwanNvbi92MS9vcHRpb25zLnByb3Rv";
/** `httpjson/v1/options.proto` for clients: a file of that name, with nothing in it. */
export const file_httpjson_v1_options: GenFile = /*@__PURE__*/ fileDesc(DESCRIPTOR);

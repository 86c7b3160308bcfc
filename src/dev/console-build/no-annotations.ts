import { fileDesc, type GenFile } from "@bufbuild/protobuf/codegenv2";

const DESCRIPTOR = "Chxnb29nbGUvYXBpL2Fubm90YXRpb25zLnByb3Rv";
/** `google/api/annotations.proto` for browsers: a file of that name, with nothing in it. */
export const file_google_api_annotations: GenFile = /*@__PURE__*/ fileDesc(DESCRIPTOR);

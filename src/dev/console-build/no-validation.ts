import { fileDesc, type GenFile } from "@bufbuild/protobuf/codegenv2";

const DESCRIPTOR = "ChtidWYvdmFsaWRhdGUvdmFsaWRhdGUucHJvdG8";
/** `buf/validate/validate.proto` for browsers and clients: a file of that name, with nothing in it. */
export const file_buf_validate_validate: GenFile = /*@__PURE__*/ fileDesc(DESCRIPTOR);

import { fileDesc } from "@bufbuild/protobuf/codegenv2";

/** `buf/validate/validate.proto` for the browser: a file of that name, with nothing in it. */
export const file_buf_validate_validate = /*@__PURE__*/ fileDesc("ChtidWYvdmFsaWRhdGUvdmFsaWRhdGUucHJvdG8");

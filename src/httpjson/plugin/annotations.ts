import type {
  DescEnumValue,
  DescExtension,
  DescField,
  DescFile,
  DescMessage,
  DescMethod,
  JsonObject,
  JsonValue,
} from "@bufbuild/protobuf";
import { getOption, hasOption, isMessage, ScalarType, toJson } from "@bufbuild/protobuf";

/** The options of the plugin, from the request's descriptors: it needs no generated code. */
export interface Annotations {
  /** `google.api.http` as ProtoJSON. */
  http(method: DescMethod): JsonObject | undefined;
  /** `httpjson.v1.error`: the HTTP status, 0 when the error decides. */
  errorStatus(message: DescMessage): number | undefined;
  /** `httpjson.v1.null_when_unset`. */
  nullWhenUnset(field: DescField): boolean;
  /** `httpjson.v1.json_value`. */
  jsonValue(value: DescEnumValue): string | undefined;
  /** `httpjson.v1.always_set`. */
  alwaysSet(field: DescField): boolean;
  /** `httpjson.v1.document` as ProtoJSON. */
  document(file: DescFile): JsonObject | undefined;
  /** `httpjson.v1.operation` as ProtoJSON. */
  operation(method: DescMethod): JsonObject | undefined;
  /** `buf.validate.field` as ProtoJSON. */
  rules(field: DescField): JsonObject | undefined;
}

/** @param files all files of the request; an option whose file is missing is not used */
export function findAnnotations(files: readonly DescFile[]): Annotations {
  const extensions = new Map(
    files.flatMap((file) => file.extensions.map((extension) => [extension.typeName, extension])),
  );
  const http = extensions.get("google.api.http");
  const error = extensions.get("httpjson.v1.error");
  const nullWhenUnset = extensions.get("httpjson.v1.null_when_unset");
  const jsonValue = extensions.get("httpjson.v1.json_value");
  const alwaysSet = extensions.get("httpjson.v1.always_set");
  const document = extensions.get("httpjson.v1.document");
  const operation = extensions.get("httpjson.v1.operation");
  const rules = extensions.get("buf.validate.field");
  return {
    http: (method) => messageOption(method, http),
    errorStatus: (message) => {
      const binding = messageOption(message, error);
      return binding && Number(binding["status"] ?? 0);
    },
    nullWhenUnset: (field) => isTrue(field, nullWhenUnset),
    jsonValue: (value) => {
      if (jsonValue === undefined || !hasOption(value, jsonValue)) {
        return undefined;
      }
      const text: unknown = getOption(value, jsonValue);
      return typeof text === "string" ? text : undefined;
    },
    alwaysSet: (field) => isTrue(field, alwaysSet),
    document: (file) => messageOption(file, document),
    operation: (method) => messageOption(method, operation),
    rules: (field) => messageOption(field, rules),
  };
}

function isTrue(field: DescField, extension: DescExtension | undefined): boolean {
  return extension?.scalar === ScalarType.BOOL && getOption(field, extension) === true;
}

function messageOption(
  desc: DescFile | DescMessage | DescField | DescMethod,
  extension: DescExtension | undefined,
): JsonObject | undefined {
  if (extension?.message === undefined || !hasOption(desc, extension)) {
    return undefined;
  }
  const option = getOption(desc, extension);
  const json = isMessage(option) ? toJson(extension.message, option) : undefined;
  return isObject(json) ? json : undefined;
}

/** Whether a JSON value is an object. */
export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

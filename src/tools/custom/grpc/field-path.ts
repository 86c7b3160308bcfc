import type { DescMessage } from "@bufbuild/protobuf";

/**
 * Returns the members in ProtoJSON that lead to a field, e.g. `["usage", "totalPages"]` for
 * `usage.total_pages`.
 * @throws Error with a message for the operator if a field does not exist or holds no number
 */
export function fieldPath(message: DescMessage, field: string): string[] {
  const [name = "", ...rest] = field.split(".");
  const found = message.fields.find((one) => one.name === name);
  if (!found) {
    const names = message.fields.slice(0, 20).map((one) => one.name);
    throw new Error(`meter.field: ${message.typeName} has no field ${name}; there are ${names.join(", ")}`);
  }
  if (rest.length === 0 && found.fieldKind === "scalar") return [found.jsonName];
  if (rest.length > 0 && found.fieldKind === "message")
    return [found.jsonName, ...fieldPath(found.message, rest.join("."))];
  throw new Error(
    `meter.field: ${message.typeName}.${name} is not a single ${rest.length > 0 ? "message" : "number"}`,
  );
}

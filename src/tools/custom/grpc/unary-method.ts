import type { DescMessage, DescMethod, FileRegistry } from "@bufbuild/protobuf";
import { isObject } from "./well-known-schema.ts";

export interface UnaryMethod {
  readonly method: DescMethod;
  /** For messages inside google.protobuf.Any. */
  readonly registry: FileRegistry;
}

/**
 * Finds a method by `package.Service/Method`.
 * @throws Error with a message for the operator
 */
export function unaryMethod(registry: FileRegistry, path: string): UnaryMethod {
  const [service = "", name = ""] = path.split("/");
  const declared = registry.getService(service);
  if (!declared) {
    const names = [...registry].flatMap((type) => (type.kind === "service" ? [type.typeName] : []));
    throw new Error(`the service ${service} does not exist${listed(names)}`);
  }
  const method = declared.methods.find((one) => one.name === name);
  if (!method)
    throw new Error(`${service} has no method ${name}${listed(declared.methods.map((one) => one.name))}`);
  if (method.methodKind !== "unary")
    throw new Error(`${path} is a streaming method; only unary methods can be tools`);
  requireObject(path, "takes", method.input);
  requireObject(path, "answers with", method.output);
  return { method, registry };
}

function requireObject(path: string, does: string, message: DescMessage): void {
  if (!isObject(message))
    throw new Error(`${path} ${does} ${message.typeName}, which is not an object in JSON`);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "" : `; there is ${names.slice(0, 20).join(", ")}`;
}

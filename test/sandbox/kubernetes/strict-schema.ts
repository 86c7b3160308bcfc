import * as library from "@kubernetes/client-node";
import { z } from "zod";

const attributes = z.array(z.object({ baseName: z.string(), type: z.string() }));

/**
 * Returns unknown members and scalars of the wrong type, which fieldValidation=Strict rejects. Uses the
 * client library's models, generated from the API description.
 * @param type API type, e.g. "V1Job"
 */
export function strangers(value: unknown, type: string, path = ""): string[] {
  if (value === null || value === undefined) return [];
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${path}: must be a list`];
    return value.flatMap((item, index) => strangers(item, list, `${path}[${index}]`));
  }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) {
    return Object.entries(value).flatMap(([key, member]) => strangers(member, map, `${path}.${key}`));
  }
  const model: unknown = Reflect.get(library, type);
  if (typeof model !== "function") return scalar(value, type, path);
  if (typeof value !== "object" || Array.isArray(value)) return [`${path}: must be an object`];
  const known = attributes.parse(
    (model as unknown as { getAttributeTypeMap(): unknown }).getAttributeTypeMap(),
  );
  return Object.entries(value).flatMap(([name, member]) => {
    const attribute = known.find(({ baseName }) => baseName === name);
    const at = path === "" ? name : `${path}.${name}`;
    return attribute === undefined ? [`unknown field "${at}"`] : strangers(member, attribute.type, at);
  });
}

function scalar(value: unknown, type: string, path: string): string[] {
  const wanted = type === "Date" || type === "Buffer" || type === "IntOrString" ? "string" : type;
  if (!["string", "number", "boolean"].includes(wanted)) return [];
  return typeof value === wanted || type === "IntOrString" ? [] : [`${path}: must be a ${wanted}`];
}

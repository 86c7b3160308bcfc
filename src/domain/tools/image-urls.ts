import { isJsonObject, type JsonValue } from "../core/json.ts";

/** Returns a body with other URLs of its images: `image_url`, a text or an object with `url`. */
export function withImageUrls(value: JsonValue, urlOf: (url: string) => string): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withImageUrls(item, urlOf));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name !== "image_url") return [name, withImageUrls(member, urlOf)];
      if (typeof member === "string") return [name, urlOf(member)];
      if (!isJsonObject(member) || typeof member["url"] !== "string") return [name, member];
      return [name, { ...member, url: urlOf(member["url"]) }];
    }),
  );
}

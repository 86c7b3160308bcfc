import { invalidField } from "../core/errors.ts";

const MAX_LENGTH = 1_000;

/**
 * Returns the URL in its normal form.
 * @param http whether http:// is allowed
 * @throws ToolgateError INVALID_REQUEST
 */
export function endpointUrl(text: string, { http }: { http: boolean }): string {
  const url = URL.parse(text);
  if (!url || text.length > MAX_LENGTH)
    throw invalidField("url", `must be an absolute URL of at most ${MAX_LENGTH} characters`);
  if (url.protocol !== "https:" && !(http && url.protocol === "http:"))
    throw invalidField("url", "must begin with https://");
  if (url.username !== "" || url.password !== "")
    throw invalidField("url", "must not contain a user name or password; verify the signature instead");
  if (url.hash !== "") throw invalidField("url", "must not contain a fragment (#…)");
  return url.href;
}

// The types of settings: each parses the text of an environment variable.
import { z } from "zod";
import { serverUrls } from "../domain/core/database-url.ts";

export const between = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be between ${minimum} and ${maximum}`);

export const integer = (minimum: number, maximum: number, fallback: number) =>
  between(minimum, maximum).default(fallback);

export const url = (protocols: readonly string[], what: string) =>
  z.string().refine((text) => {
    const parsed = URL.parse(text);
    return parsed !== null && protocols.includes(parsed.protocol);
  }, `must be ${what}`);

export const httpUrl = url(["http:", "https:"], "an http:// or https:// URL");

export function isArchiveUrl(text: string): boolean {
  const parsed = URL.parse(text);
  if (parsed === null || parsed.search !== "" || parsed.hash !== "" || parsed.username !== "") return false;
  return parsed.protocol === "file:"
    ? parsed.host === "" && parsed.pathname.length > 1
    : parsed.protocol === "s3:" && parsed.host !== "";
}

export const databaseUrl = () =>
  z
    .string()
    .refine(
      (text) => serverUrls(text) !== undefined,
      "must be a postgresql:// URL; several servers are separated by commas, and only " +
        "target_session_attrs=read-write or primary is possible",
    )
    .optional();

/** `number=URL` pairs, separated by white space because a URL may list several servers by commas. */
export const cellDatabases = () =>
  z
    .string()
    .transform((text, context) => {
      const urls = new Map<number, string>();
      const refuse = (message: string) => context.addIssue({ code: "custom", message });
      for (const part of text.split(/\s+/).filter((one) => one !== "")) {
        const [, number = "", address = ""] = /^(\d{1,5})=(.*)$/.exec(part) ?? [];
        const cell = Number(number);
        if (cell < 1 || cell > 65_535 || serverUrls(address) === undefined)
          refuse("must be pairs such as 1=postgresql://…, separated by spaces or lines, of cells 1 to 65535");
        else if (urls.has(cell)) refuse(`names cell ${cell} twice`);
        else if ([...urls.values()].includes(address))
          refuse(`has the same database for cell ${cell} and another`);
        else urls.set(cell, address);
      }
      return urls;
    })
    .optional();

export const list = (item: z.ZodType<string, string>) =>
  z
    .string()
    .transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    )
    .pipe(z.array(item));

/** `name=value` pairs, percent-encoded, as OpenTelemetry's variables have them. */
export const pairs = () =>
  z
    .string()
    .transform((text, context) => {
      const found = new Map<string, string>();
      for (const part of text.split(",").filter((one) => one.trim() !== "")) {
        const [, name = "", value = ""] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
        try {
          if (name === "") throw new TypeError("has no name");
          found.set(decodeURIComponent(name), decodeURIComponent(value));
        } catch {
          context.addIssue({ code: "custom", message: "must be name=value pairs, separated by commas" });
        }
      }
      return Object.fromEntries(found);
    })
    .optional();

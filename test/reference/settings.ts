import { z } from "zod";
import { settings } from "../../src/config/settings.ts";
import { list, withPart } from "./markdown.ts";

const metaSchema = z.object({ description: z.string(), unset: z.string().optional() });

/** Fills docs/reference/configuration.md with the settings in the order of their definitions. */
export function settingsPage(page: string): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const { description, unset } = metaSchema.parse(setting.meta());
    const fallback = setting.parse(undefined);
    const byDefault = unset ?? (fallback === undefined ? "none" : `\`${JSON.stringify(fallback)}\``);
    return `\`${name}\` (${byDefault.replaceAll('"', "")}): ${description}`;
  });
  return withPart(page, "settings", list(rows));
}

import { z } from "zod";

/** The `tools` part of the configuration file: tools of the operator's own, in the order in which the catalogue lists them. */
export const registeredToolsSchema = z.array(z.strictObject({ name: z.string() })).prefault([]);

/** The `tools` part as read. */
export type RegisteredToolsSection = z.output<typeof registeredToolsSchema>;

import type { DescField } from "@bufbuild/protobuf";
import type { PluginOptions } from "./options.ts";

/** The name under which a field is written and named in errors. */
export function writtenName(field: DescField, { fieldNames }: PluginOptions): string {
  return fieldNames === "proto" ? field.name : field.jsonName;
}

/** Both names under which a field is read, the written one first; one when they do not differ. */
export function readNames(field: DescField, options: PluginOptions): readonly string[] {
  const written = writtenName(field, options);
  const other = written === field.name ? field.jsonName : field.name;
  return written === other ? [written] : [written, other];
}

/** Whether a field that was not set can be distinguished from one with the default value. */
export function hasPresence(field: DescField): boolean {
  return field.fieldKind === "message" || field.oneof !== undefined || field.proto.proto3Optional;
}

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../plugin/annotations.ts";

// Options arrive as ProtoJSON, which omits default values.

/** A string member; empty when it is not there. */
export function textOf(option: JsonObject | undefined, name: string): string {
  const value = option?.[name];
  return typeof value === "string" ? value : "";
}

/** A number member, which ProtoJSON may write as a string; undefined when absent. */
export function numberOf(option: JsonObject | undefined, name: string): number | undefined {
  const value = option?.[name];
  return value === undefined || value === null ? undefined : Number(value);
}

export function objectsOf(option: JsonObject | undefined, name: string): JsonObject[] {
  return listOf(option, name).filter(isObject);
}

export function textsOf(option: JsonObject | undefined, name: string): string[] {
  return listOf(option, name).filter((item) => typeof item === "string");
}

export function listOf(option: JsonObject | undefined, name: string): readonly JsonValue[] {
  const value = option?.[name];
  return Array.isArray(value) ? value : [];
}

/** The names of the security schemes of a token: in Authorization, and in the other header that takes it. */
export function schemeNames(bearer: JsonObject): string[] {
  const name = textOf(bearer, "name");
  return textOf(bearer, "header") === "" ? [name] : [name, `${name}_header`];
}

/** The security requirements of a token: one of its schemes. */
export function securityBy(bearer: JsonObject): JsonObject[] {
  return schemeNames(bearer).map((name) => ({ [name]: [] }));
}

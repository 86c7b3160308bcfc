import type { Guard } from "../../outbound/address-guard.ts";
import type { SettingFiles } from "./setting-file.ts";

export interface BackendOptions<Section> {
  readonly tool: string;
  /** The operator's settings with absolute paths. */
  readonly section: Section;
  /** Headers or gRPC metadata of each call. Secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** For error messages; the call's signal enforces it. ms */
  readonly timeoutMs: number;
  /** Response limit after decompression, bytes. */
  readonly maxResponseBytes: number;
  readonly guard: Guard;
  /** Stored content of files that the section names. */
  readonly files?: SettingFiles;
}

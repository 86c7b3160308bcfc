import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { create, type JsonObject, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type {
  CreateKeyRequestSchema,
  UpdateKeyRequestSchema,
} from "#gen/toolgate/console/v1/key_service_pb.ts";
import { type ApiKey, KeyLimitsSchema } from "#gen/toolgate/v1/key_service_pb.ts";
import { asObject } from "../playground/schema.ts";
import {
  budgetErrors,
  type BudgetForm,
  budgetFormOf,
  budgetOf,
  EMPTY_BUDGET,
  limitError,
  limitOf,
  limitText,
} from "./budget-form.ts";
import { capitalize } from "../../format.ts";

export interface KeyForm extends BudgetForm {
  name: string;
  scopes: readonly string[];
  /** `grp_…`; empty: no group. */
  groupId: string;
  perCall: string;
  /** Days until expiry; empty: never; `date`: at expiryDate; `keep`: at keptExpiry. */
  expires: string;
  /** The expiry of an edited key. */
  keptExpiry: Timestamp | undefined;
  /** A UTC day, as a date input has it. */
  expiryDate: string;
  /** Whether only {@link KeyForm.tools} are allowed. */
  onlySelectedTools: boolean;
  tools: readonly string[];
}

export type FieldErrors = Partial<
  Record<"name" | "scopes" | "perCall" | "expiryDate" | "tools" | keyof BudgetForm, string>
>;

export const EXPIRY_OPTIONS = [
  { value: "", label: "Never" },
  { value: "1", label: "In 1 day" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "date", label: "On a date…" },
] as const;

/** Option of the expiry select for an edited key that expires. */
export const KEEP_EXPIRY = { value: "keep", label: "Unchanged" } as const;

export function emptyForm(scopes: readonly string[]): KeyForm {
  return {
    ...EMPTY_BUDGET,
    name: "",
    scopes,
    groupId: "",
    perCall: "",
    expires: "",
    keptExpiry: undefined,
    expiryDate: "",
    onlySelectedTools: false,
    tools: [],
  };
}

export function formOf({ name, scopes, groupId, limits }: ApiKey): KeyForm {
  return {
    ...emptyForm(scopes),
    ...(limits && budgetFormOf(limits)),
    name,
    groupId,
    perCall: limitText(limits?.callUsdcMicrousd),
    expires: limits?.expiresAt ? KEEP_EXPIRY.value : "",
    keptExpiry: limits?.expiresAt,
    onlySelectedTools: (limits?.tools.length ?? 0) > 0,
    tools: limits?.tools ?? [],
  };
}

export function validate(form: KeyForm, now: Date): FieldErrors {
  const fieldErrors: FieldErrors = budgetErrors(form);
  if (form.name.trim() === "") fieldErrors.name = "Enter a name";
  if (form.scopes.length === 0) fieldErrors.scopes = "Select at least one permission";
  const problem = limitError(form.perCall);
  if (problem !== undefined) fieldErrors.perCall = problem;
  if (form.expires === "date" && !(expiryOf(form, now) > now))
    fieldErrors.expiryDate = "Choose today or a later day";
  if (form.onlySelectedTools && form.tools.length === 0)
    fieldErrors.tools = "Select at least one tool, or allow all tools";
  return fieldErrors;
}

export function toRequest(form: KeyForm, now: Date): MessageInitShape<typeof CreateKeyRequestSchema> {
  return {
    name: form.name.trim(),
    scopes: [...form.scopes],
    limits: limitsOf(form, now),
    groupId: form.groupId,
  };
}

/** Only what was edited, so that the change of another is kept. */
export function toChange(
  { keyId, name, groupId, limits: expectedLimits = create(KeyLimitsSchema) }: ApiKey,
  form: KeyForm,
  now: Date,
): MessageInitShape<typeof UpdateKeyRequestSchema> {
  return {
    keyId,
    ...(form.name.trim() !== name && { name: form.name.trim() }),
    ...(form.groupId !== groupId && { groupId: form.groupId }),
    limits: limitsOf(form, now),
    expectedLimits,
  };
}

/** The answer to an app that may use a key with these permissions and limits (POST /oauth/consent). */
export function toConsent(form: KeyForm, now: Date): JsonObject {
  const { warnPercent: _, ...requested } = limitsOf(form, now);
  const limits = toJson(KeyLimitsSchema, create(KeyLimitsSchema, requested), { useProtoFieldName: true });
  return { approve: true, name: form.name.trim(), scopes: [...form.scopes], limits: asObject(limits) };
}

const FIELD_OF: Readonly<Record<string, keyof FieldErrors>> = {
  name: "name",
  scopes: "scopes",
  call_usdc_microusd: "perCall",
  day_usdc_microusd: "perDay",
  month_usdc_microusd: "perMonth",
  total_usdc_microusd: "inAll",
  expires_at: "expiryDate",
  tools: "tools",
};

/** Returns the text of an error beside the field that its message begins with; empty: it names none. */
export function fieldErrorsOf(error: Error | null): FieldErrors {
  const message = error instanceof ConnectError ? error.rawMessage : "";
  const [, path = "", text = ""] = /^(?:limits\.)?(\w+)\S*: (.*)$/s.exec(message) ?? [];
  const field = FIELD_OF[path];
  return field ? { [field]: capitalize(text) } : {};
}

function limitsOf(form: KeyForm, now: Date): MessageInitShape<typeof KeyLimitsSchema> {
  const [perCall, expiresAt] = [limitOf(form.perCall), expiresAtOf(form, now)];
  return {
    ...budgetOf(form),
    ...(perCall !== undefined && { callUsdcMicrousd: perCall }),
    ...(expiresAt && { expiresAt }),
    tools: form.onlySelectedTools ? [...form.tools] : [],
  };
}

function expiresAtOf(form: KeyForm, now: Date): Timestamp | undefined {
  if (form.expires === "") return undefined;
  return form.expires === KEEP_EXPIRY.value ? form.keptExpiry : timestampFromDate(expiryOf(form, now));
}

/** Returns the expiry: days from now, or the end of the chosen UTC day. Invalid Date if no day is chosen. */
function expiryOf({ expires, expiryDate }: KeyForm, now: Date): Date {
  if (expires !== "date") return new Date(now.getTime() + Number(expires) * 86_400_000);
  return new Date(new Date(`${expiryDate}T00:00:00Z`).getTime() + 86_400_000);
}

export const SCOPES = [
  { scope: "inference:write", title: "Use models", text: "inference_chat and tools that run models" },
  { scope: "compute:read", title: "Estimate and look up", text: "vram_estimate and its runs" },
  { scope: "compute:run", title: "Run code", text: "sandbox_execute and sandbox_cancel" },
  { scope: "billing:read", title: "Read receipts", text: "receipts and their payments" },
  { scope: "billing:write", title: "Manage webhooks", text: "create, change and delete webhook endpoints" },
] as const;

export const DEFAULT_SCOPES: readonly string[] = SCOPES.map(({ scope }) => scope).filter(
  (scope) => scope !== "billing:write",
);

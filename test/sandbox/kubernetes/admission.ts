import type { V1Container, V1Job, V1PodSpec, V1Secret, V1SecurityContext } from "@kubernetes/client-node";
import type { KubeObject } from "./object-store.ts";
import { strangers } from "./strict-schema.ts";

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$/;

/** MaxSecretSize, bytes decoded. */
const MAX_SECRET_BYTES = 1024 * 1024;

const MODELS: Readonly<Record<string, string>> = { jobs: "V1Job", secrets: "V1Secret", pods: "V1Pod" };

/** Returns why the API server rejects an object. */
export function refusalOf(
  resource: string,
  object: KubeObject,
): { status: number; reason: string; message: string } | undefined {
  const unknown = strangers(object, MODELS[resource] ?? "");
  if (unknown.length > 0) {
    const message =
      `${object.kind} in version "${object.apiVersion}" cannot be handled as a ${object.kind}: strict ` +
      `decoding error: ${unknown.join(", ")}`;
    return { status: 400, reason: "BadRequest", message };
  }
  const wrong = [
    ...metadataProblems(object),
    ...(resource === "jobs" ? jobProblems(object as never) : secretProblems(object as never)),
  ];
  if (wrong.length === 0) return undefined;
  return {
    status: 422,
    reason: "Invalid",
    message: `${object.kind} "${object.metadata.name}" is invalid: ${wrong.join(", ")}`,
  };
}

function metadataProblems({ metadata }: KubeObject): string[] {
  const problems = NAME.test(metadata.name) ? [] : ["metadata.name: must be a lowercase RFC 1123 subdomain"];
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (!LABEL_VALUE.test(value)) problems.push(`metadata.labels.${key}: must be a label value`);
  }
  return problems;
}

function jobProblems({ metadata, spec }: V1Job): string[] {
  const pod = spec?.template.spec;
  if (pod === undefined) return ["spec.template.spec: Required value"];
  const problems = pod.containers.flatMap((container) => containerProblems(container, pod));
  if ((metadata?.name ?? "").length > 63) problems.push("metadata.name: must be no more than 63 characters");
  if ((spec?.activeDeadlineSeconds ?? 1) <= 0)
    problems.push("spec.activeDeadlineSeconds: must be greater than 0");
  if (!["Never", "OnFailure"].includes(pod.restartPolicy ?? "Always"))
    problems.push("restartPolicy: Unsupported value");
  const nameless = pod.dnsPolicy === "None" && (pod.dnsConfig?.nameservers ?? []).length === 0;
  if (nameless) problems.push("dnsConfig.nameservers: Required value");
  return problems;
}

function containerProblems(
  { image, volumeMounts = [], resources }: V1Container,
  { volumes = [] }: V1PodSpec,
): string[] {
  const problems = image === undefined ? ["containers.image: Required value"] : [];
  for (const mount of volumeMounts) {
    if (!volumes.some(({ name }) => name === mount.name))
      problems.push(`volumeMounts: Not found: "${mount.name}"`);
  }
  for (const [what, most] of Object.entries(resources?.limits ?? {})) {
    if (!/^\d+(m|Ki|Mi|Gi)?$/.test(most)) problems.push(`resources.limits.${what}: not a quantity`);
  }
  return problems;
}

function secretProblems(secret: V1Secret): string[] {
  let bytes = 0;
  for (const [key, value] of Object.entries(secret.data ?? {})) {
    if (!/^[-._a-zA-Z0-9]{1,253}$/.test(key)) return [`data.${key}: must be a valid key`];
    if (Buffer.from(value, "base64").toString("base64") !== value)
      return [`data.${key}: illegal base64 data`];
    bytes += Buffer.from(value, "base64").length;
  }
  return bytes > MAX_SECRET_BYTES ? ["data: Too long: may not be more than 1048576 bytes"] : [];
}

export function restrictedProblems(spec: V1PodSpec): string[] {
  const host = spec.hostNetwork === true || spec.hostPID === true || spec.hostIPC === true;
  const allowed = ["name", "secret", "configMap", "emptyDir", "projected", "downwardAPI"];
  const volumes = (spec.volumes ?? []).every((volume) =>
    Object.keys(volume).every((kind) => allowed.includes(kind)),
  );
  return [
    ...(host ? ["host namespaces"] : []),
    ...(volumes ? [] : ["restricted volume types"]),
    ...spec.containers.flatMap(({ securityContext }) =>
      contextProblems({ ...spec.securityContext, ...securityContext }),
    ),
  ];
}

function contextProblems(context: V1SecurityContext): string[] {
  const held: Record<string, boolean> = {
    privileged: context.privileged !== true,
    "allowPrivilegeEscalation != false": context.allowPrivilegeEscalation === false,
    "unrestricted capabilities":
      context.capabilities?.drop?.includes("ALL") === true && context.capabilities.add === undefined,
    "runAsNonRoot != true": context.runAsNonRoot === true,
    "runAsUser=0": context.runAsUser !== 0,
    seccompProfile: ["RuntimeDefault", "Localhost"].includes(context.seccompProfile?.type ?? ""),
  };
  return Object.keys(held).filter((rule) => held[rule] !== true);
}

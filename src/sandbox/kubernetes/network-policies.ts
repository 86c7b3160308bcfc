import type { NetworkPolicy } from "./objects.ts";

const ADVICE = "apply deploy/kubernetes/network-policy.yaml";

/**
 * What the network policies leave open to pods with these labels. A policy that selects a pod denies what no policy allows; what one of
 * them allows, another cannot deny (NetworkPolicy v1): so one must select them in both directions, and none may allow anything.
 */
export function networkGaps(
  policies: readonly NetworkPolicy[],
  labels: Readonly<Record<string, string>>,
): string[] {
  const selecting = policies.filter((policy) => maySelect(policy, labels));
  const gaps: string[] = [];
  for (const direction of ["Egress", "Ingress"] as const) {
    if (
      !selecting.some(
        (policy) => surelySelects(policy, labels) && policy.spec.policyTypes.includes(direction),
      )
    ) {
      gaps.push(`no network policy denies the sandbox's pods ${direction.toLowerCase()}: ${ADVICE}`);
    }
  }
  for (const { metadata, spec } of selecting) {
    if (spec.egress.length === 0 && spec.ingress.length === 0) continue;
    gaps.push(`the network policy ${metadata.name} allows the sandbox's pods some of the network: delete it`);
  }
  return gaps;
}

function surelySelects({ spec }: NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, matchExpressions } = spec.podSelector;
  return (
    matchExpressions.length === 0 &&
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value)
  );
}

/** Pods have more labels than these, and expressions are not evaluated: unless it is sure not to select them, it may. */
function maySelect({ spec }: NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(spec.podSelector.matchLabels).every(
    ([key, value]) => labels[key] === undefined || labels[key] === value,
  );
}

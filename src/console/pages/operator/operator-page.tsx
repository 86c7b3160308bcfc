import type { ReactNode } from "react";
import { useSignedIn } from "../../session.tsx";
import { ButtonLink, EmptyState, Page } from "../../ui/index.ts";

/** A page for operators; other accounts see a notice instead of an error from the server. */
export function OperatorPage({
  children,
  ...head
}: Omit<Parameters<typeof Page>[0], "children"> & { children: ReactNode }) {
  const { session } = useSignedIn();
  return (
    <Page {...head}>
      {session.operator ? (
        children
      ) : (
        <EmptyState
          title="This page is for operators"
          action={<ButtonLink href="/">Go to the overview</ButtonLink>}
        >
          Your account does not have the operator role.
        </EmptyState>
      )}
    </Page>
  );
}

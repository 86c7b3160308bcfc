import type { ReactNode } from "react";
import { Button, ButtonLink, EmptyState } from "../../ui/index.ts";
import { isFiltered, clearFilter, type Filter } from "./filter.ts";

/** Shown for an empty list: either there is nothing yet, or the filter excludes everything. */
export function EmptyList({
  what,
  filter,
  accountId,
  onFilter,
  children,
}: {
  what: string;
  accountId: string | undefined;
  filter: Filter;
  onFilter: (filter: Filter) => void;
  children: ReactNode;
}) {
  if (isFiltered(filter)) {
    return (
      <EmptyState
        title={`No matching ${what}`}
        action={<Button onClick={() => onFilter(clearFilter(filter))}>Show all</Button>}
      >
        Nothing matches the filter. Days are in UTC and inclusive.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title={`No ${what} yet`}
      action={
        accountId === undefined && <ButtonLink href="/playground">Try a tool in the playground</ButtonLink>
      }
    >
      {children}
    </EmptyState>
  );
}

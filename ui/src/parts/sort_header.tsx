// The header of a sortable column, largest first.
export interface SortHeaderProps<T extends string> {
  by: T;
  sort: T; // the current order
  onSort: (by: T) => void;
  text: string;
  number?: boolean; // align to the right
  title?: string;
}

export const SortHeader = <T extends string>({ by, sort, onSort, text, number = true, title }: SortHeaderProps<T>) => (
  <th
    scope="col"
    class={number ? 'number' : undefined}
    title={title}
    aria-sort={sort === by ? 'descending' : undefined}
  >
    <button type="button" onClick={() => onSort(by)}>
      {text}
      {sort === by ? ' ▾' : ''}
    </button>
  </th>
);

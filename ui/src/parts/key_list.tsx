// A list of keys and what they do.
export const KeyList = ({ keys }: { keys: readonly (readonly [string, string, ...unknown[]])[] }) => (
  <dl class="keys">
    {keys.map(([key, text]) => (
      <div key={key}>
        <dt>
          <kbd>{key}</kbd>
        </dt>
        <dd>{text}</dd>
      </div>
    ))}
  </dl>
);

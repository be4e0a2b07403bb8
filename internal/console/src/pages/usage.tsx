export default () => <h1>usage</h1>

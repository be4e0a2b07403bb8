export default () => <h1>search</h1>
